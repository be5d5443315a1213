package dispatch

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Attempts is what one logical call has done so far: whom it was sent to, and what
// became of it. Acquire and End write it, Next reads it.
//
// The zero value has done nothing. It must not be copied after use.
//
// # Contract
//
//   - Of attempts that overlap each is at another member, while there is one that was not tried.
//   - A member that answered, that refused, or that could not be reached is not tried again.
//   - A retry for which nobody is found is given back to the budget.
//
// # Cost
//
// Every method is O(attempts). The first two attempts allocate nothing; a second one
// needs a set of those tried, which allocates once.
//
// # Concurrency
//
// Attempts of one call may overlap, as hedges do. Those that are Sequential belong to
// one goroutine at a time, and so do their calls until they were answered.
type Attempts struct {
	// Sequential says that its attempts begin and end one after the other, and spares
	// each of them some locks. It must not change after the first.
	Sequential bool

	mu syncx.Mutex
	// Guarded by mu, unless Sequential.
	count  int
	turn   uint32
	inline [2]visit
	more   []visit
	tried  *poise.Tried // nil until somebody asks for it
	last   observe.Choice
	paid   bool // a retry was taken from the budget, and was not made yet
}

// visit is one member that a call was sent to.
type visit struct {
	member *member
	turn   uint32 // the order of the visits
	choice observe.Choice
	sent   uint8 // how often something was sent to it
	open   bool  // an attempt is on its way
	spent  bool  // it answered, refused or could not be reached
}

func (a *Attempts) lock() {
	if !a.Sequential {
		a.mu.Lock()
	}
}

func (a *Attempts) unlock() {
	if !a.Sequential {
		a.mu.Unlock()
	}
}

// at returns visit i. Requires mu.
func (a *Attempts) at(i int) *visit {
	if i < len(a.inline) {
		return &a.inline[i]
	}
	return &a.more[i-len(a.inline)]
}

// find returns the visit of the member, or -1. Requires mu.
func (a *Attempts) find(m *member) int {
	for i := range a.count {
		if a.at(i).member == m {
			return i
		}
	}
	return -1
}

// Len returns how many members were tried.
func (a *Attempts) Len() int {
	if a == nil {
		return 0
	}
	a.lock()
	defer a.unlock()
	return a.count
}

// IDs returns the identities of the members tried, in the order in which they were
// tried first.
func (a *Attempts) IDs() []string {
	if a == nil {
		return nil
	}
	a.lock()
	defer a.unlock()
	ids := make([]string, a.count)
	for i := range ids {
		ids[i] = a.at(i).member.id
	}
	return ids
}

// set returns those tried; nil for none.
func (a *Attempts) set() *poise.Tried {
	if a == nil {
		return nil
	}
	a.lock()
	defer a.unlock()
	if a.count == 0 {
		return nil
	}
	if a.tried == nil {
		a.tried = new(poise.Tried)
		for i := range a.count {
			m := a.at(i).member
			a.tried.Add(m.id, m.incarnation)
		}
	}
	return a.tried
}

// copied returns a set of its own of those tried.
func (a *Attempts) copied() *poise.Tried {
	tried := new(poise.Tried)
	if a == nil {
		return tried
	}
	a.lock()
	defer a.unlock()
	for i := range a.count {
		m := a.at(i).member
		tried.Add(m.id, m.incarnation)
	}
	return tried
}

// claim notes that an attempt goes to the member. It returns the place of the visit
// and the number of the attempt, and false if another attempt has been there.
func (a *Attempts) claim(m *member, choice observe.Choice) (place, number int, ok bool) {
	if a == nil {
		return 0, 1, true
	}
	a.lock()
	defer a.unlock()
	if a.find(m) >= 0 {
		return 0, 0, false
	}
	v := visit{member: m, turn: a.turn, choice: choice, open: true}
	a.turn++
	a.last, a.paid = choice, false
	if a.count < len(a.inline) {
		a.inline[a.count] = v
	} else {
		a.more = append(a.more, v)
	}
	a.count++
	if a.tried != nil {
		a.tried.Add(m.id, m.incarnation)
	}
	return a.count - 1, int(a.turn), true
}

// again takes the least recently tried of those who may be tried again and whom ok
// lets through.
func (a *Attempts) again(ok func(*member) bool) (m *member, place, number int) {
	if a == nil {
		return nil, 0, 0
	}
	a.lock()
	defer a.unlock()
	best := -1
	for i := range a.count {
		v := a.at(i)
		if !v.open && !v.spent && (best < 0 || v.turn < a.at(best).turn) && ok(v.member) {
			best = i
		}
	}
	if best < 0 {
		return nil, 0, 0
	}
	v := a.at(best)
	v.turn, v.open, v.choice = a.turn, true, observe.Again
	a.turn++
	a.last, a.paid = observe.Again, false
	return v.member, best, int(a.turn)
}

// undo takes back what again has taken: the member had no room.
func (a *Attempts) undo(place int) {
	a.lock()
	defer a.unlock()
	a.at(place).open = false
}

// pay notes that a retry was taken from the budget.
func (a *Attempts) pay() {
	if a == nil {
		return
	}
	a.lock()
	defer a.unlock()
	a.paid = true
}

// refund reports, once, whether a retry was taken that was not made.
func (a *Attempts) refund() bool {
	if a == nil {
		return false
	}
	a.lock()
	defer a.unlock()
	paid := a.paid
	a.paid = false
	return paid
}

// note tells what became of the attempt at a place.
func (a *Attempts) note(place int, r poise.Result, answered bool) {
	if a == nil {
		return
	}
	a.lock()
	defer a.unlock()
	v := a.at(place)
	v.open = false
	v.spent = v.spent || answered || r.Outcome == poise.Overloaded || r.Outcome == poise.Unreachable
	if r.Outcome != poise.Unreachable && v.choice != observe.Trial {
		v.sent++
	}
}

// state returns what Next needs to know of the visits.
func (a *Attempts) state() (s RetryState) {
	if a == nil {
		s.Sent = 1
		return s
	}
	a.lock()
	defer a.unlock()
	s.Trial = a.last == observe.Trial
	for i := range a.count {
		v := a.at(i)
		s.Sent += int(v.sent)
		if v.choice == observe.LastResort {
			s.Ejected++
		}
		if !v.open && !v.spent {
			s.Again = true
		}
	}
	return s
}
