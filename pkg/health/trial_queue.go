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

// add puts the endpoint into the queue for the instant.
func (q *trialQueue) add(e *PassiveEndpoint, due int64) {
	e.due = due
	heap.Push(q, e)
}

// remove takes the endpoint out of the queue, which holds it.
func (q *trialQueue) remove(e *PassiveEndpoint) { heap.Remove(q, e.queued) }

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
