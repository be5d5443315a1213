package sim

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// bucketWidth is how finely a Record tells instants apart.
const bucketWidth = 50 * time.Millisecond

// Record is what became of the calls of one run, or of several added up. Everything
// is counted in the bucket of the instant at which the call began, but for what
// servers got, which is counted when it was sent.
type Record struct {
	// Runs is how many runs were added up.
	Runs int
	// Buckets is how many buckets there are, each of bucketWidth.
	Buckets int
	calls   [4][]uint32 // by class
	failed  [4][]uint32
	unsent  [4][]uint32
	refused []uint32
	roomy   []uint32 // refused although a member had room
	latency []uint64 // of successes, nanoseconds added up
	dials   []uint32
	eject   []uint32
	wrong   []uint32
	// got and refusedBy are requests sent and dials, by server and then bucket.
	got       []uint32
	refusedBy []uint32
	most      int // of requests at one server at once
	peaks     int // of runs, added up
	slow      [512]uint32
	ejections []Ejection
}

// Ejection is one ejection of one run.
type Ejection struct {
	At     time.Duration
	Server int
	// Wrong says that nothing was wrong with this server that was not so with all.
	Wrong bool
}

func newRecord(s *Scenario) *Record {
	n := int((s.Length+patience)/bucketWidth) + 2
	r := &Record{Runs: 1, Buckets: n}
	block := make([]uint32, n*(4+4+4+5+2*len(s.Servers)))
	part := func(size int) []uint32 {
		p := block[:size:size]
		block = block[size:]
		return p
	}
	for class := range r.calls {
		r.calls[class], r.failed[class], r.unsent[class] = part(n), part(n), part(n)
	}
	r.refused, r.roomy, r.dials, r.eject, r.wrong = part(n), part(n), part(n), part(n), part(n)
	r.got, r.refusedBy = part(n*len(s.Servers)), part(n*len(s.Servers))
	r.latency = make([]uint64, n)
	return r
}

func (r *Record) bucket(at int64) int {
	return min(int(at/int64(bucketWidth)), r.Buckets-1)
}

func (r *Record) began(at int64, class Class) { r.calls[class][r.bucket(at)]++ }

func (r *Record) ended(c *call, now int64, success bool) {
	b := r.bucket(c.began)
	if !success {
		r.failed[c.class][b]++
		if !c.everSent {
			r.unsent[c.class][b]++
		}
		return
	}
	if c.class == Marked {
		return
	}
	took := now - c.began
	r.latency[b] += uint64(took)
	r.slow[place(took)]++
}

// place returns the place of a time in the histogram: eight for each power of two
// microseconds.
func place(took int64) int {
	us := uint64(max(took/1000, 1))
	power := bits.Len64(us) - 1
	return min(power*8+int(us<<3>>power&7), 511)
}

// timeAt is the lower end of a place.
func timeAt(place int) time.Duration {
	return time.Duration(float64(uint64(1)<<(place/8))*(1+float64(place%8)/8)) * time.Microsecond
}

func (r *Record) refuse(c *call, roomy bool) {
	r.refused[r.bucket(c.began)]++
	if roomy {
		r.roomy[r.bucket(c.began)]++
	}
}

func (r *Record) sent(now int64, c *call) {
	c.everSent = true
	r.got[int(c.server)*r.Buckets+r.bucket(now)]++
}

func (r *Record) dialled(now int64, c *call) {
	b := r.bucket(now)
	r.dials[b]++
	r.refusedBy[int(c.server)*r.Buckets+b]++
}

func (r *Record) peak(n int) {
	if n > r.most {
		r.most = n
	}
}

func (r *Record) ejected(now int64, server int, wrong bool) {
	b := r.bucket(now)
	r.eject[b]++
	if wrong {
		r.wrong[b]++
	}
	r.ejections = append(r.ejections, Ejection{time.Duration(now), server, wrong})
}

// add adds another record of the same scenario.
func (r *Record) add(other *Record) {
	r.Runs += other.Runs
	sum := func(to, from []uint32) {
		for i, v := range from {
			to[i] += v
		}
	}
	for class := range r.calls {
		sum(r.calls[class], other.calls[class])
		sum(r.failed[class], other.failed[class])
		sum(r.unsent[class], other.unsent[class])
	}
	sum(r.refused, other.refused)
	sum(r.roomy, other.roomy)
	sum(r.dials, other.dials)
	sum(r.eject, other.eject)
	sum(r.wrong, other.wrong)
	sum(r.got, other.got)
	sum(r.refusedBy, other.refusedBy)
	for i, v := range other.latency {
		r.latency[i] += v
	}
	sum(r.slow[:], other.slow[:])
	r.most = max(r.most, other.most)
	r.peaks += other.peaks
}

// Calls returns how many calls began, the marked ones included.
func (r *Record) Calls() (n int) {
	for class := range r.calls {
		for _, v := range r.calls[class] {
			n += int(v)
		}
	}
	return n
}

// Ejections returns the ejections of a single run in order.
func (r *Record) Ejections() []Ejection { return slices.Clone(r.ejections) }

// Quantile returns the latency that the part q of successful calls did not exceed,
// to an eighth.
func (r *Record) Quantile(q float64) time.Duration {
	total := 0
	for _, n := range r.slow {
		total += int(n)
	}
	left := int(math.Ceil(q * float64(total)))
	for i, n := range r.slow {
		if left -= int(n); left <= 0 && n > 0 {
			return timeAt(i + 1)
		}
	}
	return 0
}

// window is a range of buckets.
type window struct{ from, to int }

func over(counts []uint32, w window) (n float64) {
	for _, v := range counts[w.from:w.to] {
		n += float64(v)
	}
	return n
}

// classes adds up what the class means.
func (r *Record) classes(of *[4][]uint32, class Class, w window) float64 {
	if class != AnyClass {
		return over(of[class], w)
	}
	return over(of[Get], w) + over(of[Post], w)
}

// everyCall adds up calls of all classes.
func (r *Record) everyCall(w window) float64 {
	return r.classes(&r.calls, AnyClass, w) + over(r.calls[Marked], w)
}

func (r *Record) gotBy(server int, w window) float64 {
	return over(r.got[server*r.Buckets:(server+1)*r.Buckets], w)
}

// measure returns a metric as a numerator and a denominator, which may be added up
// over runs. Metrics that cannot be are measured by pooled.
func (r *Record) measure(m *Must, w window, servers int) (value, of float64) {
	switch m.Metric {
	case Failed:
		return r.classes(&r.failed, m.Class, w), r.classes(&r.calls, m.Class, w)
	case Unsent:
		return r.classes(&r.unsent, m.Class, w), r.classes(&r.calls, m.Class, w)
	case Refused:
		return over(r.refused, w), r.everyCall(w)
	case RefusedWithRoom:
		return over(r.roomy, w), r.everyCall(w)
	case Goodput:
		good := r.classes(&r.calls, m.Class, w) - r.classes(&r.failed, m.Class, w)
		return good, float64(w.to-w.from) * bucketWidth.Seconds() * float64(r.Runs)
	case Sent:
		for i := range servers {
			value += r.gotBy(i, w)
		}
		return value, r.everyCall(w)
	case Dials:
		return over(r.dials, w), r.everyCall(w)
	case Share:
		for i := range servers {
			got := r.gotBy(i, w)
			of += got
			if slices.Contains(m.Servers, i) {
				value += got
			}
		}
		return value, of
	case Ejections:
		return over(r.eject, w), r.everyCall(w)
	case WrongEjections:
		return over(r.wrong, w), r.everyCall(w)
	case MarkedEjections:
		return over(r.eject, w), over(r.calls[Marked], w)
	case FirstFailed:
		return r.firstFailed(w), float64(r.Runs)
	case Peak:
		return float64(r.peaks), float64(r.Runs)
	case Latency:
		for _, v := range r.latency[w.from:w.to] {
			value += float64(v) / 1e9
		}
		return value, r.classes(&r.calls, AnyClass, w) - r.classes(&r.failed, AnyClass, w)
	}
	return 0, 0
}

// firstFailed reports of a single run whether a call of the first bucket with calls
// failed.
func (r *Record) firstFailed(w window) float64 {
	for b := w.from; b < w.to; b++ {
		one := window{b, b + 1}
		if r.classes(&r.calls, AnyClass, one) == 0 {
			continue
		}
		if r.classes(&r.failed, AnyClass, one) > 0 {
			return 1
		}
		return 0
	}
	return 0
}

// pooled measures what only the sum of many runs shows: shares of single servers
// and when they change. Times are in seconds.
func (r *Record) pooled(m *Must, w window, s *Scenario) float64 {
	servers := m.Servers
	if servers == nil {
		for i := range s.Servers {
			servers = append(servers, i)
		}
	}
	if len(servers) == 0 {
		return 0
	}
	switch m.Metric {
	case LeastShare, MostShare:
		least, most, sum := math.Inf(1), 0.0, 0.0
		for _, i := range servers {
			got := r.gotBy(i, w)
			least, most, sum = min(least, got), max(most, got), sum+got
		}
		mean := sum / float64(len(servers))
		if mean == 0 {
			return 0
		}
		if m.Metric == LeastShare {
			return least / mean
		}
		return most / mean
	}
	return r.turning(m.Metric, servers, w, len(s.Servers))
}

// turning returns how long after the begin of the window the servers get less than a
// tenth of their share of attempts for good, or half of their share of requests.
func (r *Record) turning(metric Metric, servers []int, w window, n int) float64 {
	wide := int(200 * time.Millisecond / bucketWidth)
	last := w.from - wide // the last step in which it was not so
	for b := w.from; b+wide <= w.to; b += wide {
		step := window{b, b + wide}
		theirs, all := 0.0, 0.0
		for i := range n {
			got := r.gotBy(i, step)
			if metric == Notice {
				got += over(r.refusedBy[i*r.Buckets:(i+1)*r.Buckets], step)
			}
			all += got
			if slices.Contains(servers, i) {
				theirs += got
			}
		}
		fair := all * float64(len(servers)) / float64(n)
		switch {
		case metric == Notice && theirs >= fair/10 && theirs > 0, metric == Return && theirs < fair/2:
			last = b
		}
	}
	return float64(last+wide-w.from) * bucketWidth.Seconds()
}

// instantOf is the latest of the marks, by the rates that the scenario sets.
func (s *Scenario) instantOf(marks []Mark) time.Duration {
	var latest time.Duration
	for _, m := range marks {
		latest = max(latest, s.after(m))
	}
	return latest
}

// after is when so many calls are expected to have come after an instant.
func (s *Scenario) after(m Mark) time.Duration {
	rate, from, left := s.Calls.Rate, m.At, float64(m.Calls)
	for _, e := range s.Events {
		if e.Verb != SetRate || left <= 0 {
			continue
		}
		if e.At <= m.At {
			rate = e.Number
			continue
		}
		if calls := rate * (e.At - from).Seconds(); calls >= left {
			break
		} else {
			left -= calls
		}
		rate, from = e.Number, e.At
	}
	if left <= 0 {
		return from
	}
	if rate <= 0 {
		return s.Length
	}
	return from + time.Duration(left/rate*float64(time.Second))
}

// window returns the buckets of a Must.
func (s *Scenario) window(m *Must) window {
	from := min(s.Length, s.instantOf(m.From))
	to := s.Length
	if len(m.To) > 0 {
		to = min(to, s.instantOf(m.To))
	}
	up := func(d time.Duration) int { return int((d + bucketWidth - 1) / bucketWidth) }
	w := window{up(from), up(to)}
	w.to = max(w.to, w.from)
	return w
}

// ratio divides, and is 0 where there is nothing to divide by.
func ratio(value, of float64) float64 {
	if of == 0 {
		return 0
	}
	return value / of
}
