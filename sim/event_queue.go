package sim

// happening is one thing to come, in the order of its instant.
type happening struct {
	at    int64  // nanoseconds since the run began
	order uint32 // of two at one instant the one that was said first
	life  uint32 // of the call or request; another life means that it is stale
	index int32
	kind  happeningKind
}

type happeningKind uint8

const (
	arrival happeningKind = iota
	change                // index is that of an event of the scenario
	served                // a server has worked on a request
	failing               // a server is about to fail a request
	answer                // an answer begins at its caller
	bodyEnd               // the last byte of an answer
	attemptTimeout
	deadline
	pause // before the next attempt of a call
	advance
	up // a server comes back
)

func (h *happening) before(other *happening) bool {
	return h.at < other.at || h.at == other.at && h.order < other.order
}

// lane is a queue of things that are to come after one and the same time, so that
// they come in the order in which they were said.
type lane struct {
	ring  []happening // a power of two of them
	first uint32
	n     uint32
}

func (l *lane) push(h happening) {
	if int(l.n) == len(l.ring) {
		grown := make([]happening, max(64, 2*len(l.ring)))
		for i := range l.n {
			grown[i] = l.ring[(l.first+i)&uint32(len(l.ring)-1)]
		}
		l.ring, l.first = grown, 0
	}
	l.ring[(l.first+l.n)&uint32(len(l.ring)-1)] = h
	l.n++
}

func (l *lane) head() *happening { return &l.ring[l.first] }

func (l *lane) pop() happening {
	h := l.ring[l.first]
	l.first = (l.first + 1) & uint32(len(l.ring)-1)
	l.n--
	return h
}

// The lanes: each holds one constant delay.
const (
	answerLane = iota
	timeoutLane
	deadlineLane
	lanes
)

// eventQueue is what is to come: a heap of four children, and lanes beside it for
// what is always the same time away, which is most of it.
type eventQueue struct {
	heap  []happening
	lanes [lanes]lane
	order uint32
}

func (q *eventQueue) reset() {
	q.heap, q.order = q.heap[:0], 0
	for i := range q.lanes {
		q.lanes[i].first, q.lanes[i].n = 0, 0
	}
}

// add puts a happening into the heap.
func (q *eventQueue) add(at int64, kind happeningKind, index int32, life uint32) {
	q.order++
	h := happening{at: at, order: q.order, life: life, index: index, kind: kind}
	i := len(q.heap)
	q.heap = append(q.heap, h)
	for i > 0 {
		parent := (i - 1) / 4
		if !h.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = h
}

// addTo puts a happening into a lane. Its instant is not before those in it.
func (q *eventQueue) addTo(lane int, at int64, kind happeningKind, index int32, life uint32) {
	q.order++
	q.lanes[lane].push(happening{at: at, order: q.order, life: life, index: index, kind: kind})
}

// pop takes the earliest happening, if there is one.
func (q *eventQueue) pop() (happening, bool) {
	var first *happening
	from := -1
	if len(q.heap) > 0 {
		first = &q.heap[0]
	}
	for i := range q.lanes {
		if l := &q.lanes[i]; l.n > 0 && (first == nil || l.head().before(first)) {
			first, from = l.head(), i
		}
	}
	if first == nil {
		return happening{}, false
	}
	if from >= 0 {
		return q.lanes[from].pop(), true
	}
	return q.popHeap(), true
}

func (q *eventQueue) popHeap() happening {
	top := q.heap[0]
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&last) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = last
	return top
}
