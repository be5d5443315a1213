package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Random returns the scenario of the seed: servers, calls, one to four things that
// go wrong in the first seconds, and six seconds in which all is well again. The
// load is within what the servers can take, but while an event says otherwise.
//
// What must hold is the same for all of them: nobody is refused while there is room,
// calls fail hardly more often than with the policy alone, nor than under plain
// rotation where all servers have room for all calls, requests are not multiplied,
// and a few seconds after the last trouble the loop does as well as without passive
// health, so that no state outlives its cause.
func Random(seed uint64) *Scenario {
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, 7)), s: &Scenario{
		Name: fmt.Sprintf("random-%d", seed), Title: fmt.Sprintf("random scenario %d", seed),
		Seeds: 2, Clients: 1,
	}}
	g.fleet()
	g.calm = g.IntN(3) > 0
	g.healed = randomHealed
	if g.calm {
		g.healed += randomPatience
	}
	g.s.Length = g.healed + randomRest
	for range 1 + g.IntN(4) {
		g.trouble()
	}
	g.heal()
	g.s.Musts = g.musts()
	return g.s
}

// When troubles of a random scenario are over, how long after that it must have
// recovered, and for how long it goes on.
//
// Where troubles last until they are over, what was learnt is judged by calls that
// begin before randomHealed. Servers that hang answer when they are well again, and a
// policy that sends calls to them fails none that waits for so long. So there all is
// well only randomPatience later: no call waits longer, and none of those that are
// compared is answered because of what nobody can know.
const (
	randomHealed   = 5 * time.Second
	randomPatience = 3 * time.Second
	randomSound    = 3 * time.Second
	randomRest     = 6 * time.Second
)

// grammar makes a scenario by chance.
type grammar struct {
	*rand.Rand
	s *Scenario
	// calm: every trouble begins before the second second and lasts until healed.
	calm   bool
	healed time.Duration
}

func pick[T any](g *grammar, from ...T) T { return from[g.IntN(len(from))] }

func (g *grammar) fleet() {
	s := g.s
	n := pick(g, 1, 2, 2, 3, 3, 4, 5, 5, 8, 10, 20)
	cost := pick(g, time.Millisecond, 5*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond)
	rate := float64(pick(g, 20, 50, 100, 100, 200))
	one := Server{Cost: cost, Delay: pick(g, 200*time.Microsecond, time.Millisecond, 5*time.Millisecond)}
	if g.IntN(2) == 0 {
		// Enough for the load at a use of a quarter to two thirds.
		needs := rate * cost.Seconds() / float64(n)
		one.Concurrency = max(1, int(needs/(0.25+0.4*g.Float64())+0.99))
		one.Queue = pick(g, 0, 2, 20, 200)
		one.ServeAbandoned = g.IntN(4) == 0
	}
	for range n {
		s.Servers = append(s.Servers, one)
	}
	if n > 2 && g.IntN(6) == 0 {
		s.Servers[n-1].Priority = 1
	}
	if g.IntN(6) == 0 {
		for i := range s.Servers {
			s.Servers[i].Weight = uint32(1 + g.IntN(3))
		}
	}
	s.Policies = []string{pick(g, "round-robin", "round-robin", "two-choices", "two-choices", "least-loaded", "random",
		"weighted-least-request", "smooth-weighted", "ring-hash", "maglev", "rendezvous")}
	s.Clients = pick(g, 1, 1, 1, 2, 4)
	s.Calls = Calls{
		Rate: rate, Gaps: pick(g, Exponential, Constant), Costs: pick(g, Constant, Exponential, Uniform, Pareto),
		Posts: pick(g, 0, 0.3, 1), MarkedStatus: 500, Keys: pick(g, 0, 0, 50),
	}
	switch g.IntN(4) {
	case 0:
		s.Calls.AttemptTimeout = pick(g, 300*time.Millisecond, time.Second)
	case 1:
		s.Calls.AttemptTimeout, s.Calls.Deadline = 300*time.Millisecond, time.Second
	default:
		s.Calls.Deadline = pick(g, 500*time.Millisecond, 2*time.Second)
	}
	if g.IntN(8) == 0 {
		s.Calls.Marked = 0.05
	}
	if g.IntN(8) == 0 {
		s.Calls.Body = pick(g, 5*time.Millisecond, 100*time.Millisecond)
	}
}

// at draws when something happens, to a tenth of a second.
func (g *grammar) at(from, to time.Duration) time.Duration {
	return from + time.Duration(g.Int64N(int64((to-from)/(100*time.Millisecond))))*100*time.Millisecond
}

// some draws some servers in a row, often few and sometimes all.
func (g *grammar) some() (servers []int, all bool) {
	n := len(g.s.Servers)
	k := pick(g, 1, 1, 1, (n+1)/2, n-1, n)
	k = max(1, k)
	from := g.IntN(n - k + 1)
	for i := range k {
		servers = append(servers, from+i)
	}
	return servers, k == n
}

func (g *grammar) trouble() {
	s := g.s
	from := g.at(time.Second, 4*time.Second)
	to := g.at(from+100*time.Millisecond, randomHealed)
	if g.calm {
		from, to = g.at(time.Second, 2*time.Second), g.healed
	}
	e := Event{At: from}
	end := Event{At: to}
	switch g.IntN(12) {
	case 0:
		e.Verb, e.Number, end.Verb, end.Number = SetRate, s.Calls.Rate*pick(g, 0.1, 2, 4), SetRate, s.Calls.Rate
	case 1:
		e.Verb, e.Duration = Pause, pick(g, 200*time.Millisecond, time.Second, 3*time.Second)
		s.Events = append(s.Events, e)
		return
	case 2:
		e.Verb, e.Duration = StepClock, pick(g, -time.Hour, -time.Second, time.Second, time.Hour)
		s.Events = append(s.Events, e)
		return
	default:
		e.Servers, e.All = g.some()
		g.serverTrouble(&e, &end)
		end.Servers, end.All = e.Servers, e.All
	}
	s.Events = append(s.Events, e)
	if e.Verb != Restart {
		s.Events = append(s.Events, end)
	}
}

func (g *grammar) serverTrouble(e, end *Event) {
	switch g.IntN(10) {
	case 0:
		e.Verb, e.Number, end.Verb, end.Number = SetSlow, pick(g, 3.0, 10, 100), SetSlow, 1
	case 1:
		e.Verb, e.Duration, end.Verb = SetDelay, pick(g, 20*time.Millisecond, 200*time.Millisecond), SetDelay
	case 2:
		e.Verb, e.Duration = Restart, pick(g, 200*time.Millisecond, 700*time.Millisecond)
	case 3:
		e.Verb, end.Verb = Leave, Join
		if e.All {
			e.Verb, end.Verb = Drain, Join
			e.Servers, e.All = e.Servers[:1], false
		}
	default:
		e.Verb, end.Verb = SetFault, SetFault
		e.Fault = Fault{Kind: pick(g, Refuse, Refuse, Hang, Reset, Answer, Answer, Answer)}
		if e.Fault.Kind == Answer {
			e.Fault.Status, e.Fault.After = pick(g, 500, 502, 503), pick(g, 0, time.Millisecond, 20*time.Millisecond)
			if e.Fault.Status == 503 {
				e.Fault.RetryAfter = pick(g, 0, 0, time.Second)
			}
		}
		e.Fault.Probability = pick(g, 0, 0, 0, 0.1, 0.5)
	}
}

// heal ends every trouble that another one may have left.
func (g *grammar) heal() {
	var everybody []int
	for i := range g.s.Servers {
		everybody = append(everybody, i)
	}
	for _, e := range []Event{
		{Verb: SetFault}, {Verb: SetSlow, Number: 1}, {Verb: SetDelay},
	} {
		e.At, e.Servers, e.All = g.healed, everybody, true
		g.s.Events = append(g.s.Events, e)
	}
	g.s.Events = append(g.s.Events, Event{At: g.healed, Verb: SetRate, Number: g.s.Calls.Rate})
	sortEvents(g.s)
}

// plain reports whether servers that fail do so at once and whatever they are asked:
// then they are known after few calls.
func (g *grammar) plain() bool {
	for _, e := range g.s.Events {
		fails := e.Verb == SetFault && e.Fault.Kind != Hang && e.Fault.Probability == 0
		if e.At < g.healed && !fails && e.Verb != Restart && e.Verb != Leave {
			return false
		}
	}
	return true
}

// spared reports how many servers that take calls are well all the time, and how many
// there are.
func (g *grammar) spared() (well, all int) {
	concerned := map[int]bool{}
	for _, e := range g.s.Events {
		if e.At < g.healed {
			for _, server := range e.Servers {
				concerned[server] = true
			}
		}
	}
	for i, server := range g.s.Servers {
		if server.Priority > 0 {
			continue
		}
		if all++; !concerned[i] {
			well++
		}
	}
	return well, all
}

// musts is what must hold.
func (g *grammar) musts() []Must {
	s := g.s
	calls := s.Calls.Rate * s.Length.Seconds()
	once := float64(s.Clients) * (10 + 3*s.Length.Seconds()) // what retries may cost beside a fifth of the calls
	var musts []Must
	// Who fails is learnt by calls: about ten for each server, again after each change.
	changes := map[time.Duration]bool{}
	for _, e := range s.Events {
		changes[e.At] = true
	}
	learning := 2 + 100*10*float64(len(s.Servers)*len(changes)*s.Clients)/max(calls, 1)
	// Where nothing changes any more, what was learnt holds until all is well again.
	learnt := fmt.Sprintf("after 3s,2s+%dcalls before 5s", 10*len(s.Servers)*s.Clients)
	few := 100 * 6 / (s.Calls.Rate * 2 * float64(s.Seeds)) // six calls in those seconds, in percent
	// Where servers have no room for everything, one that fails at once sheds load. Who
	// leaves it out, and refuses nothing, gives all calls to those that are left, whose
	// queues may then end in timeouts: an oracle that knows who is well does so, too.
	bare := "bare"
	if s.Servers[0].Concurrency > 0 {
		bare = "bare or oracle"
	}
	texts := []string{
		"refused-with-room <= 0",
		fmt.Sprintf("failed <= 100%% of %s + %.1f%%", bare, learning),
		fmt.Sprintf("failed <= 100%% of bare + 1%% after %v", g.healed+randomSound),
		fmt.Sprintf("sent <= %.2f", 1.25+once/max(calls, 1)),
	}
	if g.calm {
		texts = append(texts, fmt.Sprintf("failed <= 100%% of %s + %.1f%% %s", bare, 2+few, learnt))
	}
	// Where every server has room for everything, the policy cannot be to blame.
	// A fleet in which many servers fail is another matter: rotation then sends calls
	// three times, which the loop does not do to a fleet in trouble, so that it is
	// compared with one that does not either.
	if well, all := g.spared(); s.Servers[0].Concurrency == 0 && well > 0 {
		rotation := "rotation"
		if 3*well < 2*all {
			rotation = "thrifty"
		}
		texts = append(texts, fmt.Sprintf("failed <= 100%% of %s + %.1f%%", rotation, learning))
		if g.calm && g.plain() {
			texts = append(texts, fmt.Sprintf("failed <= 100%% of oracle + %.1f%% %s", 3+few, learnt))
		}
		if g.calm {
			texts = append(texts, fmt.Sprintf("failed <= 100%% of %s + %.1f%% %s", rotation, 2+few, learnt))
		}
	}
	for _, text := range texts {
		m, err := ParseMust(text, len(s.Servers))
		if err != nil {
			panic(err)
		}
		musts = append(musts, m)
	}
	return musts
}
