package policy

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// shareTwin computes, slowly and from the contract alone, what share of the
// traffic each priority and locality has, and which candidates serve there.
type shareTwin struct {
	samples           []poise.Sample
	factor, threshold int64
	failClosed, zoned bool
	short             bool
	capacity          map[uint32]int64 // units
}

func (s *shareTwin) is(i int) (member, eligible, usable bool) {
	sample := s.samples[i]
	member = sample.Status != poise.Draining
	eligible = sample.Status == poise.Ready && sample.Excluded == poise.NotExcluded
	return member, eligible, member && (eligible || !sample.PanicOptOut)
}

// weights sums the weights of the candidates of a priority, and of a locality if
// one is named.
func (s *shareTwin) weights(priority uint32, locality *string) (total, eligible, usable int64) {
	for i, sample := range s.samples {
		if sample.Priority != priority || locality != nil && sample.Locality != *locality {
			continue
		}
		isMember, isEligible, isUsable := s.is(i)
		w := int64(sample.Weight.Value())
		if isMember {
			total += w
		}
		if isEligible {
			eligible += w
		}
		if isUsable {
			usable += w
		}
	}
	return total, eligible, usable
}

// part is available/total times the factor, at most 1.
func (s *shareTwin) part(available, total int64) *big.Rat {
	r := big.NewRat(available*s.factor, total*100)
	if one := big.NewRat(1, 1); r.Cmp(one) > 0 {
		return one
	}
	return r
}

func (s *shareTwin) millionths(available, total int64) int64 {
	r := s.part(available, total)
	r.Mul(r, big.NewRat(1_000_000, 1))
	units := new(big.Int).Quo(r.Num(), r.Denom()).Int64()
	if units == 0 && available > 0 {
		return 1
	}
	return units
}

// priorities lists those with members, ascending.
func (s *shareTwin) priorities() []uint32 {
	var list []uint32
	for i, sample := range s.samples {
		if member, _, _ := s.is(i); member && !slices.Contains(list, sample.Priority) {
			list = append(list, sample.Priority)
		}
	}
	slices.Sort(list)
	return list
}

func (s *shareTwin) prepare() {
	s.capacity = map[uint32]int64{}
	sum := new(big.Rat)
	for _, p := range s.priorities() {
		total, eligible, _ := s.weights(p, nil)
		sum.Add(sum, s.part(eligible, total))
		s.capacity[p] = s.millionths(eligible, total)
	}
	s.short = sum.Cmp(big.NewRat(1, 1)) < 0
}

func (s *shareTwin) panics(p uint32) bool {
	total, eligible, _ := s.weights(p, nil)
	return s.short && big.NewRat(eligible*100, total).Cmp(big.NewRat(s.threshold, 1)) < 0
}

func (s *shareTwin) allPanic() bool {
	return !slices.ContainsFunc(s.priorities(), func(p uint32) bool { return !s.panics(p) })
}

// traffic returns each priority's tickets.
func (s *shareTwin) traffic() map[uint32]int64 {
	tickets := map[uint32]int64{}
	left := int64(1_000_000)
	for _, p := range s.priorities() {
		_, _, usable := s.weights(p, nil)
		switch {
		case s.allPanic():
			tickets[p] = usable
		case s.short:
			tickets[p] = s.capacity[p]
		default:
			tickets[p] = min(s.capacity[p], left)
			left -= tickets[p]
		}
	}
	if !s.short {
		for _, p := range s.priorities() {
			if s.capacity[p] > 0 {
				tickets[p] += left
				break
			}
		}
	}
	return tickets
}

// scopes lists the localities of a priority that serve, with effective weights
// and members, as text.
func (s *shareTwin) scopes(p uint32) []string {
	inPanic := s.panics(p)
	members := map[string][]int{}
	zone := map[string]int64{}
	for i, sample := range s.samples {
		_, eligible, usable := s.is(i)
		if sample.Priority != p || !eligible && (!inPanic || s.failClosed || !usable) {
			continue
		}
		name := ""
		if s.zoned {
			name = sample.Locality
		}
		members[name] = append(members[name], i)
		zone[name] = int64(sample.LocalityWeight.Value())
	}
	var list []string
	for name, indices := range members {
		var effective int64
		if s.zoned {
			total, available, usable := s.weights(p, &name)
			if inPanic && !s.failClosed {
				available = usable
			}
			effective = zone[name] * s.millionths(available, total)
		}
		list = append(list, fmt.Sprintf("%q effective %d members %v", name, effective, indices))
	}
	slices.Sort(list)
	return list
}

func drawSpots(t *rapid.T) []spot {
	spots := make([]spot, rapid.IntRange(0, 12).Draw(t, "candidates"))
	weights := rapid.SampledFrom([][]uint32{{0}, {1, 2, 3}, {1, 2_000_000}, {1, 7, 1 << 31}}).Draw(t, "weights")
	for i := range spots {
		spots[i] = spot{
			priority: rapid.Uint32Range(0, 3).Draw(t, "priority"),
			weight:   rapid.SampledFrom(weights).Draw(t, "weight"),
			state:    rapid.SampledFrom([]string{"up", "up", "down", "withheld", "draining"}).Draw(t, "state"),
			locality: rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, "locality"),
		}
		spots[i].zone = 1 + spots[i].priority*3 + uint32(len(spots[i].locality))
	}
	return spots
}

// compare holds a Picker against the twin and returns what differs.
func (s *shareTwin) compare(p *topologyPicker) error {
	got, want := "", ""
	for i, l := range p.levels.things {
		rejects := l.rejects
		got += fmt.Sprintf("%d tickets %d panic %t rejects %t\n", l.choice.Priority, p.levels.weight(i), l.choice.Panic, rejects)
		if !rejects {
			got += describe(l)
		}
	}
	serves := false
	tickets := s.traffic()
	for _, priority := range s.priorities() {
		if tickets[priority] == 0 {
			continue
		}
		rejects := s.panics(priority) && s.failClosed
		serves = serves || !rejects
		want += fmt.Sprintf("%d tickets %d panic %t rejects %t\n", priority, tickets[priority], s.panics(priority), rejects)
		if !rejects {
			for _, text := range s.scopes(priority) {
				want += text + "\n"
			}
		}
	}
	if want != "" && !serves { // all reject alike
		if len(p.levels.things) != 1 || !p.levels.things[0].rejects {
			return fmt.Errorf("nobody serves and the Picker has\n%s", got)
		}
		return nil
	}
	if got != want {
		return fmt.Errorf("the Picker has\n%s, the twin\n%s", got, want)
	}
	return nil
}

func describe(l *level) string {
	var list []string
	for _, scope := range l.scopes.things {
		var members []int
		for position := range scope.view.EligibleLen() {
			members = append(members, scope.view.Eligible(position))
		}
		list = append(list, fmt.Sprintf("%q effective %d members %v\n", scope.choice.Locality, scope.choice.EffectiveWeight, members))
	}
	slices.Sort(list)
	text := ""
	for _, line := range list {
		text += line
	}
	return text
}

// Claim: The capacity of a priority is its eligible weight over its whole weight, times the overprovisioning factor, rounded down, and at most all of the traffic.
// Code: carried, units
// Claim: Priorities take the traffic in ascending order, each as much as it can carry.
// Code: fillUp
// Claim: While capacity is short and some priority does not panic, each takes traffic in proportion to its capacity.
// Code: shareOut
// Claim: While every priority panics, they share the traffic in proportion to the weights that panic can use.
// Code: shareOut
// Claim: A locality's effective weight is its weight times its available part in millionths, times the overprovisioning factor, and at most its weight times a million.
// Code: plan, group.available
func TestTopology_SharesAsItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spots := drawSpots(t)
		cfg := TopologyConfig{
			Overprovisioning: rapid.SampledFrom([]uint32{100, 101, 140, 1000}).Draw(t, "factor"),
			PanicThreshold:   rapid.SampledFrom([]uint32{1, 33, 50, 100}).Draw(t, "threshold"),
			PanicOff:         rapid.Bool().Draw(t, "panic off"),
			FailClosed:       rapid.Bool().Draw(t, "fail closed"),
		}
		twin := &shareTwin{
			factor: int64(cfg.Overprovisioning), threshold: int64(cfg.PanicThreshold),
			failClosed: cfg.FailClosed, zoned: rapid.Bool().Draw(t, "localities"),
		}
		if cfg.PanicOff {
			twin.threshold = 0
		}
		for i, s := range spots {
			twin.samples = append(twin.samples, s.sample(fmt.Sprint(i)))
		}
		twin.prepare()
		topology, err := newTopology(cfg, "topology", twin.zoned)
		if err != nil {
			t.Fatal(err)
		}
		picker, err := topology.prepare(spotView(t, spots))
		if err != nil {
			t.Fatal(err)
		}
		if err := twin.compare(picker.(*topologyPicker)); err != nil {
			t.Fatal(err)
		}
	})
}

// Claim: A Locality chooses the priority as Priority does.
// Code: plan
func TestLocality_ChoosesThePriorityAsPriorityDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := spotView(t, drawSpots(t))
		cfg := TopologyConfig{FailClosed: rapid.Bool().Draw(t, "fail closed")}
		text := ""
		for _, localities := range []bool{false, true} {
			topology, err := newTopology(cfg, "topology", localities)
			if err != nil {
				t.Fatal(err)
			}
			prepared, err := topology.prepare(v)
			if err != nil {
				t.Fatal(err)
			}
			picker := prepared.(*topologyPicker)
			this := fmt.Sprint(picker.levels.ends)
			for _, l := range append(picker.levels.things, picker.spare...) {
				this += fmt.Sprint(" ", l.choice.Priority, l.choice.Panic, l.rejects)
			}
			if localities && this != text {
				t.Fatalf("Locality has %s, Priority %s", this, text)
			}
			text = this
		}
	})
}
