package seq

import (
	"fmt"
	"math"
	"math/bits"
)

// The specifications of the library's shared types, each in terms of small
// numbers, so that histories of the explorer, of recorded goroutines and of
// hand-written cases read alike. A holder (lease, slot, permit) bears a number
// under 64 that the history gives it.

// Stream is a source of numbers of which every draw takes the next.
//
//	Draw() uint64
func Stream(draws []uint64) Spec {
	return Define(fmt.Sprintf("stream of %d", len(draws)), 0, func(next int, op Op) []int {
		return One(next < len(draws) && op.Result == draws[next], next+1)
	})
}

// Turns is a rotation over candidates, of which some are eligible. It starts at
// the cursor. A Pick may name those it passes over, as bits.
//
//	Pick(tried) int
func Turns(eligible []bool, cursor int) Spec {
	return Define(fmt.Sprintf("turns of %v from %d", eligible, cursor), cursor, func(cursor int, op Op) []int {
		for i := range eligible {
			if at := (cursor + i) % len(eligible); eligible[at] && tried(op)>>at&1 == 0 {
				return One(op.Result == at, at+1)
			}
		}
		return nil
	})
}

// tried are whom a Pick passes over; nobody where it names nothing.
func tried(op Op) int {
	bits, _ := op.Arg.(int)
	return bits
}

type warmth struct {
	known, done bool
	since       int
}

// Warming is up to three candidates of weight 1 that come to their full weight in
// 1000 units of time, from a tenth of it. An Apply names the instant and who is
// eligible, and returns the weights in thousandths, ten bits for each.
//
//	Apply(8 * instant + set as bits) int   Warming() int
func Warming() Spec {
	return Define("warming", [3]warmth{}, func(warm [3]warmth, op Op) [][3]warmth {
		if op.Name == "Warming" {
			cold := 0
			for _, w := range warm {
				if w.known && !w.done {
					cold++
				}
			}
			return One(op.Result == cold, warm)
		}
		at, set := op.Arg.(int)>>3, op.Arg.(int)&7
		elders := false
		for i, w := range warm {
			elders = elders || w.known && set>>i&1 != 0
		}
		weights := 0
		for i := range warm {
			weight, w := 1000, &warm[i]
			switch {
			case set>>i&1 == 0:
				*w = warmth{}
			case !w.known:
				*w = warmth{known: true, done: !elders, since: at}
			}
			if w.known {
				w.since = min(w.since, at) // a clock that steps back starts the time again
				w.done = w.done || at-w.since >= 1000
			}
			if w.known && !w.done {
				weight = max(100, at-w.since)
			}
			weights |= weight << (10 * i)
		}
		return One(op.Result == weights, warm)
	})
}

type scoped struct {
	scopes  int    // how many were drawn
	members [4]int // by scope, how many were taken
	drawn   uint64 // by task: it has drawn a scope and taken nobody
}

// Scoped is a source of picks of which each draws a scope, and then takes whoever
// is next in the scope; between the two others may draw and take. In sequence the
// picks are the given ones. Scopes have numbers under 4.
//
//	Pick() int
func Scoped(source string, picks []int, scope func(pick int) int) Spec {
	var members [4][]int
	for _, pick := range picks {
		members[scope(pick)] = append(members[scope(pick)], pick)
	}
	steps := Define("scoped picks of "+source, scoped{}, func(s scoped, op Op) []scoped {
		pick := op.Result.(int)
		at, task := scope(pick), uint64(1)<<op.Task
		if op.Name == "Draw" {
			allowed := s.scopes < len(picks) && scope(picks[s.scopes]) == at
			s.scopes++
			s.drawn |= task
			return One(allowed, s)
		}
		allowed := s.drawn&task != 0 && s.members[at] < len(members[at]) && members[at][s.members[at]] == pick
		s.members[at]++
		s.drawn &^= task
		return One(allowed, s)
	})
	return Stepwise(steps, func(op Op) []Op {
		draw := op
		draw.Name = "Draw"
		return []Op{draw, op}
	})
}

// Picks is a source of picks that come in the given order, whoever asks.
//
//	Pick() int
func Picks(source string, picks []int) Spec {
	return Define("picks of "+source, 0, func(next int, op Op) []int {
		return One(next < len(picks) && op.Result == picks[next], next+1)
	})
}

// smoothTurns are the credits of turns, and those of picks that pass over somebody,
// which do not touch each other.
type smoothTurns struct {
	turns, retries smoothCredits
}

type smoothCredits struct {
	credits [3]int64
	list    int // of the last pick
	begun   bool
}

// pick takes the one with most credit among those who are left.
func (c *smoothCredits) pick(lists [][3]uint32, list, tried int) (at int) {
	total, sum := int64(0), int64(0)
	for i, weight := range lists[list] {
		total += int64(weight)
		if tried>>i&1 == 0 {
			sum += int64(weight)
		}
	}
	if c.begun && lists[list] != lists[c.list] {
		for i, credit := range c.credits {
			c.credits[i] = max(-5*total/8, min(5*total/8, credit))
		}
	}
	c.list, c.begun = list, true
	at = -1
	for i, weight := range lists[list] {
		if tried>>i&1 != 0 {
			continue
		}
		c.credits[i] += int64(weight)
		if at < 0 || c.credits[i] > c.credits[at] {
			at = i
		}
	}
	c.credits[at] -= sum
	return at
}

// SmoothTurns is smooth weighted round robin as the textbook has it, over up to
// three candidates: everyone gains their weight, whoever has most is picked and
// pays the sum. A Pick names the list of weights it goes by, the first if it names
// none; credits outlast a change of the list, cut to 5/8 of the new sum either way.
// Picks that pass over somebody have credits of their own.
//
//	Pick(list + 4 * tried as bits) int
func SmoothTurns(lists ...[3]uint32) Spec {
	return Define(fmt.Sprintf("smooth turns of %v", lists), smoothTurns{}, func(s smoothTurns, op Op) []smoothTurns {
		arg, _ := op.Arg.(int)
		credits := &s.turns
		if arg>>2 != 0 {
			credits = &s.retries
		}
		at := credits.pick(lists, arg&3, arg>>2)
		return One(op.Result == at, s)
	})
}

// Leases is a counter with a limit, 0 for none, whose holders each give back what
// they took once.
//
//	Acquire(lease) bool   Release(lease) bool   Current() int
func Leases(limit int) Spec {
	return Define(fmt.Sprintf("leases, limit %d", limit), uint64(0), func(held uint64, op Op) []uint64 {
		switch op.Name {
		case "Acquire":
			if op.Result == true {
				return One(limit == 0 || bits.OnesCount64(held) < limit, held|bit(op.Arg))
			}
			return One(limit != 0 && bits.OnesCount64(held) >= limit, held)
		case "Release":
			return One(op.Result == (held&bit(op.Arg) != 0), held&^bit(op.Arg))
		default:
			return One(op.Result == bits.OnesCount64(held), held)
		}
	})
}

func bit(number any) uint64 { return 1 << number.(int) }

// Admission is what became of a Begin.
type Admission string

// The admissions.
const (
	Admitted Admission = "admitted"
	Draining Admission = "draining"
	Full     Admission = "full"
)

type slots struct {
	held    uint64
	refuses bool
	removed bool
}

// Slots is admission to one endpoint that may drain and be removed.
//
// A Begin that will be refused because of a drain or removal holds a slot for a
// moment, and another Begin may meanwhile be told that the endpoint is full. So
// with a limit "full" is always allowed; what is exact is who is admitted.
//
//	Begin(slot) Admission   Release(slot) bool   Drain()   Resume()   Remove()
func Slots(limit int) Spec {
	return Define(fmt.Sprintf("slots, limit %d", limit), slots{}, func(s slots, op Op) []slots {
		full := limit != 0 && bits.OnesCount64(s.held) >= limit
		switch op.Name {
		case "Begin":
			switch op.Result {
			case Admitted:
				allowed := !full && !s.refuses
				s.held |= bit(op.Arg)
				return One(allowed, s)
			case Draining:
				return One(s.refuses, s)
			default:
				return One(limit != 0, s)
			}
		case "Release":
			allowed := op.Result == (s.held&bit(op.Arg) != 0)
			s.held &^= bit(op.Arg)
			return One(allowed, s)
		case "Drain":
			s.refuses = true
		case "Resume":
			s.refuses = s.removed
		case "Remove":
			s.refuses, s.removed = true, true
		}
		return []slots{s}
	})
}

// Verdict is the argument of a Report: what became of the call of a permit.
type Verdict struct {
	Permit, At int
	Failed     bool
}

// Stamped is a number and the instant it is told at.
type Stamped struct{ Number, At int }

// ProbingConfig are the settings of Probing: how long to wait while the condition
// is 0 (unknown), 1 (healthy) or 2 (unhealthy), for how long a reservation is held,
// and how many results in a row decide.
type ProbingConfig struct {
	Intervals       [3]int
	Hold, Good, Bad int
}

type probing struct {
	condition, good, bad int
	issued               int  // how many reservations
	running              bool // the last of them is out
	since                int  // when it was reserved
	probed               bool
	ended                int    // when the last one ended, if probed
	reservations         [8]int // the number of each, 0 for none
}

// settle ends a reservation that was held too long, and lets what lies in the
// future of a clock that stepped back begin anew.
func (p *probing) settle(cfg ProbingConfig, at int) {
	if p.running {
		p.since = min(p.since, at)
		if at-p.since >= cfg.Hold {
			p.running, p.probed, p.ended = false, true, p.since+cfg.Hold
		}
	}
	if p.probed {
		p.ended = min(p.ended, at)
	}
}

// due is the time from an instant, at which it is settled, to the next reservation.
func (p *probing) due(cfg ProbingConfig, at int) int {
	switch interval := cfg.Intervals[p.condition]; {
	case p.running:
		return cfg.Hold + interval - (at - p.since)
	case p.probed:
		return max(0, interval-(at-p.ended))
	}
	return 0
}

// end ends a reservation and reports whether it was out.
func (p *probing) end(cfg ProbingConfig, number, at int) bool {
	p.settle(cfg, at)
	if !p.running || p.reservations[number] != p.issued {
		return false
	}
	p.running, p.probed, p.ended = false, true, at
	return true
}

// decide counts one result.
func (p *probing) decide(cfg ProbingConfig, failed bool) {
	if failed {
		p.good, p.bad = 0, p.bad+1
	} else {
		p.good, p.bad = p.good+1, 0
	}
	switch {
	case p.good >= cfg.Good:
		p.condition = 1
	case p.bad >= cfg.Bad:
		p.condition = 2
	}
}

// Probing is a candidate that is probed by one reservation at a time. Reservations
// have numbers under 8.
//
//	Reserve(Stamped) int   Complete(Verdict) bool   Cancel(Stamped) bool
//	Force(Stamped)   Due(at) int   Condition() int
//
// Reserve and Due tell how long there is to wait, 0 if there is nothing to wait
// for; Complete and Cancel whether the reservation was out. Force is told the
// condition.
func Probing(cfg ProbingConfig) Spec {
	return Define(fmt.Sprintf("probing %v", cfg), probing{}, func(p probing, op Op) []probing {
		switch op.Name {
		case "Reserve":
			a := op.Arg.(Stamped)
			p.settle(cfg, a.At)
			wait := p.due(cfg, a.At)
			if wait == 0 {
				p.issued++
				p.running, p.since, p.reservations[a.Number] = true, a.At, p.issued
			}
			return One(op.Result == wait, p)
		case "Complete":
			v := op.Arg.(Verdict)
			counts := p.end(cfg, v.Permit, v.At)
			if counts {
				p.decide(cfg, v.Failed)
			}
			return One(op.Result == counts, p)
		case "Cancel":
			a := op.Arg.(Stamped)
			return One(op.Result == p.end(cfg, a.Number, a.At), p)
		case "Force":
			a := op.Arg.(Stamped)
			p.settle(cfg, a.At)
			p.condition, p.good, p.bad, p.running = a.Number, 0, 0, false
			return []probing{p}
		case "Due":
			settled := p
			settled.settle(cfg, op.Arg.(int))
			return One(op.Result == settled.due(cfg, op.Arg.(int)), p)
		default:
			return One(op.Result == p.condition, p)
		}
	})
}

// Sample is the argument of an Observe or a Done: what a call took, and when it
// ended. A Done names the call as well.
type Sample struct {
	Call, Took, At int
}

type peak struct {
	cost           float64
	at             int
	calls, sampled uint64
	answered       uint64 // calls whose answer has begun: their end is no sample
	read           [4]int // by task: the calls in flight that it has read, and one; 0: none
}

// move forgets until the instant. One before the last sample counts as that one;
// only if it lies more than ten units before, everything begins anew.
func (p *peak) move(instant int, initial, towards float64) {
	if instant < p.at-10 {
		p.cost, p.at = initial, instant
	}
	elapsed := max(0, instant-p.at)
	p.cost = towards + float64((p.cost-towards)*math.Exp2(-float64(elapsed)))
	p.at += elapsed
}

// Peak is an estimate of what calls take, with a half-life of one unit of time. A
// longer sample counts at once; a shorter one, and the initial cost while there is
// none, count by half in each unit. Calls have numbers under 64, tasks under 4.
//
//	Observe(Sample)   Estimate(at) int   Start(call) bool   Answered(Sample) bool   Done(Sample) bool   Load(at) int
//
// A Done is a sample, unless an Answered was it, and then the call is in flight no
// more; a Load reads the
// calls in flight, and then the estimate. Between the two steps others may act.
func Peak(initial int) Spec {
	first := peak{cost: float64(initial)}
	return Stepwise(Define(fmt.Sprintf("peak from %d", initial), first, first.next), func(op Op) []Op {
		before := op
		switch op.Name {
		case "Done":
			before.Name, op.Name = "Observe", "Leave"
		case "Load":
			before.Name = "Count"
		default:
			return []Op{op}
		}
		return []Op{before, op}
	})
}

// next is one step of a state that began as first.
func (first peak) next(p peak, op Op) []peak {
	switch op.Name {
	case "Answered":
		call := bit(op.Arg.(Sample).Call)
		allowed := op.Result == (p.calls&call != 0 && p.answered&call == 0)
		op.Name = "Observe"
		p = first.next(p, op)[0]
		p.answered |= call
		return One(allowed, p)
	case "Observe":
		s := op.Arg.(Sample)
		if p.answered&bit(s.Call) != 0 {
			p.sampled |= bit(s.Call)
			return []peak{p}
		}
		p.move(s.At, first.cost, min(first.cost, float64(s.Took)))
		p.cost = max(p.cost, float64(s.Took))
		p.sampled |= bit(s.Call)
		return []peak{p}
	case "Leave":
		call := bit(op.Arg.(Sample).Call)
		allowed := op.Result == true && p.sampled&p.calls&call != 0
		p.calls &^= call
		return One(allowed, p)
	case "Start":
		p.calls, p.sampled, p.answered = p.calls|bit(op.Arg), p.sampled&^bit(op.Arg), p.answered&^bit(op.Arg)
		return One(op.Result == true, p)
	case "Count":
		p.read[op.Task] = bits.OnesCount64(p.calls) + 1
		return []peak{p}
	}
	calls := 1 // an Estimate is a Load without calls
	allowed := true
	if op.Name == "Load" {
		calls, allowed, p.read[op.Task] = p.read[op.Task], p.read[op.Task] > 0, 0
	}
	seen := p
	seen.move(op.Arg.(int), first.cost, first.cost)
	return One(allowed && op.Result == int(seen.cost*float64(calls)), p)
}

// Marks is a set that only grows.
//
//	Add(number) bool   Has(number) bool   Len() int
func Marks() Spec {
	return Define("marks", uint64(0), func(marks uint64, op Op) []uint64 {
		switch op.Name {
		case "Add":
			return One(op.Result == (marks&bit(op.Arg) == 0), marks|bit(op.Arg))
		case "Has":
			return One(op.Result == (marks&bit(op.Arg) != 0), marks)
		default:
			return One(op.Result == bits.OnesCount64(marks), marks)
		}
	})
}

// Budget is an allowance, full at the start, of which each Earn adds percent
// hundredths of a unit and each Spend takes one.
//
//	Earn()   Spend() bool
func Budget(percent, burst int) Spec {
	full := burst * 100
	return Define(fmt.Sprintf("budget of %d percent, burst %d", percent, burst), full, func(saved int, op Op) []int {
		if op.Name == "Earn" {
			return []int{min(saved+percent, full)}
		}
		if op.Result == true {
			return One(saved >= 100, saved-100)
		}
		return One(saved < 100, saved)
	})
}

// Members is a set of endpoints that changes as a whole. A Call goes to one of
// them, or nowhere (-1) when there is none.
//
//	Update(set as bits) nil   Call() int
func Members(initial uint64) Spec {
	return Define(fmt.Sprintf("members %b", initial), initial, func(members uint64, op Op) []uint64 {
		if op.Name == "Update" {
			return []uint64{op.Arg.(uint64)}
		}
		if at := op.Result.(int); at >= 0 {
			return One(members&(1<<at) != 0, members)
		}
		return One(members == 0, members)
	})
}

// The results of a Next that returned no revision.
const (
	Ended     = -1 // the board is closed and its last revision was returned
	Cancelled = -2 // the wait was given up
)

type board struct {
	revision int
	closed   bool
	seen     [4]int // by cursor, the last revision and one; 0: none
}

// Board is a place where revisions are put up, and cursors that read it. A Next
// that waits takes effect when it ends; a Poll does not wait, and is cancelled if
// nothing is new.
//
//	Publish() int   Close()   Load() int   Next(cursor) int   Poll(cursor) int
func Board(first int) Spec {
	return Define("board", board{revision: first}, func(b board, op Op) []board {
		switch op.Name {
		case "Publish":
			if b.closed {
				return One(op.Result == Ended, b)
			}
			b.revision++
			return One(op.Result == b.revision, b)
		case "Close":
			b.closed = true
			return []board{b}
		case "Load":
			return One(op.Result == b.revision, b)
		}
		seen := &b.seen[op.Arg.(int)]
		fresh := b.revision+1 > *seen
		switch op.Result {
		case Cancelled:
			return One(op.Name == "Next" || !fresh && !b.closed, b)
		case Ended:
			return One(b.closed && !fresh, b)
		default:
			allowed := fresh && op.Result == b.revision
			*seen = b.revision + 1
			return One(allowed, b)
		}
	})
}

// Applied is an effect and the revision after it.
type Applied struct {
	Effect   string
	Revision int
}

type shared struct {
	claims   uint64 // by source
	there    bool
	revision int
}

// Shared is one member that several sources claim and drop. Without a claim it
// drains until its drain is finished.
//
//	Upsert(source) Applied   Remove(source) Applied   FinishDrain() Applied
func Shared() Spec {
	return Define("shared member", shared{}, func(s shared, op Op) []shared {
		var effect string
		was := s
		switch op.Name {
		case "Upsert":
			s.there, s.claims = true, s.claims|bit(op.Arg)
			switch {
			case !was.there:
				effect = "inserted"
			case was.claims == 0:
				effect = "revived"
			case was.claims == s.claims:
				effect = "unchanged"
			default:
				effect = "claimed"
			}
		case "Remove":
			s.claims &^= bit(op.Arg)
			switch {
			case !was.there:
				effect = "unknown"
			case was.claims == 0:
				effect = "already draining"
			case s.claims == 0:
				effect = "drain started"
			default:
				effect = "kept"
			}
		default:
			switch {
			case !was.there:
				effect = "unknown"
			case was.claims != 0:
				effect = "not draining"
			default:
				effect, s.there = "drain finished", false
			}
		}
		switch effect {
		case "inserted", "revived", "drain started", "drain finished":
			s.revision++
		}
		if effect == "unknown" { // an error bears no revision
			return One(op.Result == Applied{Effect: effect}, s)
		}
		return One(op.Result == Applied{effect, s.revision}, s)
	})
}
