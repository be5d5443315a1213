// Explorable.

package health

import "container/heap"

// never is an instant that does not come.
const never = int64(1<<63 - 1)

// trialQueue is the ejected endpoints whose next trial has an instant, soonest
// first; those of one instant in the order of their ejection.
type trialQueue []*PassiveEndpoint

// first returns the instant of the first, never if there is none.
func (q trialQueue) first() int64 {
	if len(q) == 0 {
		return never
	}
	return q[0].due
}

// set puts the endpoint into the queue for the instant, or moves it there.
func (q *trialQueue) set(e *PassiveEndpoint, due int64) {
	e.due = due
	if e.queued < 0 {
		heap.Push(q, e)
		return
	}
	heap.Fix(q, e.queued)
}

// remove takes the endpoint out, if it is in.
func (q *trialQueue) remove(e *PassiveEndpoint) {
	if e.queued >= 0 {
		heap.Remove(q, e.queued)
	}
}

func (q trialQueue) Len() int { return len(q) }

func (q trialQueue) Less(i, j int) bool {
	if q[i].due != q[j].due {
		return q[i].due < q[j].due
	}
	return q[i].number < q[j].number
}

func (q trialQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].queued, q[j].queued = i, j
}

// Push is for container/heap.
func (q *trialQueue) Push(e any) {
	endpoint := e.(*PassiveEndpoint)
	endpoint.queued = len(*q)
	*q = append(*q, endpoint)
}

// Pop is for container/heap.
func (q *trialQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.queued = -1
	return e
}
