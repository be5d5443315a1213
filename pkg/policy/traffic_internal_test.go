package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// spot is a candidate as the arithmetic of traffic sees it.
type spot struct {
	priority uint32
	weight   uint32 // 0 is 1
	state    string // "up", "down", "withheld" (down and opted out), "draining"
	locality string
	zone     uint32 // the locality's weight; 0 is 1
}

func (s spot) sample(id string) poise.Sample {
	sample := poise.Sample{ID: id, Priority: s.priority, Locality: s.locality}
	if s.weight > 0 {
		sample.Weight, _ = poise.NewWeight(s.weight)
	}
	if s.zone > 0 {
		sample.LocalityWeight, _ = poise.NewWeight(s.zone)
	}
	switch s.state {
	case "down":
		sample.Status = poise.Unavailable
	case "withheld":
		sample.Status, sample.PanicOptOut = poise.Unavailable, true
	case "draining":
		sample.Status = poise.Draining
	}
	return sample
}

func spotView(t interface{ Fatal(...any) }, spots []spot) *poise.View {
	candidates := make([]poise.Candidate, len(spots))
	for i, s := range spots {
		candidates[i] = s.sample(fmt.Sprint("spot-", i))
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// prepared returns the Picker of a topology with default settings but for those.
func prepared(t *testing.T, cfg TopologyConfig, localities bool, spots []spot) *topologyPicker {
	t.Helper()
	topology, err := newTopology(cfg, "topology", localities)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := topology.prepare(spotView(t, spots))
	if err != nil {
		t.Fatal(err)
	}
	return picker.(*topologyPicker)
}

// crowd returns size spots of weight 1 in the priority, so many of them up.
func crowd(priority uint32, size, up int) []spot {
	spots := make([]spot, size)
	for i := range spots {
		spots[i] = spot{priority: priority, state: "up"}
		if i >= up {
			spots[i].state = "down"
		}
	}
	return spots
}

func together(crowds ...[]spot) (all []spot) {
	for _, c := range crowds {
		all = append(all, c...)
	}
	return all
}

// ticket is a ticket of a weightedList and what it must choose.
type ticket struct {
	number   uint64
	priority uint32
	panics   bool
}

// The other implementation's scripted tickets: they fix the arithmetic of
// priorities on both sides.
func TestPriority_ChoosesByTheScriptedTickets(t *testing.T) {
	a := []spot{{0, 0, "up", "", 0}, {0, 0, "down", "", 0}, {1, 2, "up", "", 0}}
	d := together(crowd(0, 3, 2), crowd(1, 1, 1))
	k := together(crowd(0, 3, 1), crowd(1, 1, 1))
	e := together(crowd(0, 4, 1), crowd(1, 5, 1))
	g := together(crowd(0, 4, 1), crowd(1, 5, 3))
	for _, row := range []struct {
		name    string
		spots   []spot
		factor  uint32
		thr     uint32
		total   uint64
		tickets []ticket
	}{
		{"A", a, 100, 50, 1_000_000, []ticket{{0, 0, false}, {499_999, 0, false}, {500_000, 1, false}, {999_999, 1, false}}},
		{"B", a, 140, 50, 1_000_000, []ticket{{699_999, 0, false}, {700_000, 1, false}}},
		{"D", d, 140, 50, 1_000_000, []ticket{{933_332, 0, false}, {933_333, 1, false}}},
		{"K", k, 100, 50, 1_000_000, []ticket{{333_332, 0, false}, {333_333, 1, false}}},
		// The other implementation goes by capacity also where all panic: 250 to 200.
		{"E", e, 100, 50, 9, []ticket{{3, 0, true}, {4, 1, true}, {8, 1, true}}},
		{"E, of which one does not panic", g, 100, 50, 850_000, []ticket{{249_999, 0, true}, {250_000, 1, false}, {849_999, 1, false}}},
		{"F", e, 100, 20, 450_000, []ticket{{249_999, 0, false}, {250_000, 1, false}}},
	} {
		p := prepared(t, TopologyConfig{Overprovisioning: row.factor, PanicThreshold: row.thr}, false, row.spots)
		if p.levels.total != row.total {
			t.Errorf("%s: tickets below %d, want %d", row.name, p.levels.total, row.total)
		}
		for _, want := range row.tickets {
			choice := p.levels.at(want.number).choice
			if choice.Priority != want.priority || choice.Panic != want.panics {
				t.Errorf("%s: ticket %d chooses %+v, want %+v", row.name, want.number, choice, want)
			}
		}
	}
	if p := prepared(t, TopologyConfig{Overprovisioning: 100}, false, e); p.levels.things[0].scopes.things[0].view.EligibleLen() != 4 ||
		p.levels.things[1].scopes.things[0].view.EligibleLen() != 5 {
		t.Error("E: a panic does not draw among 4 and 5 members")
	}
}

// Claim: A locality with anybody available has an effective weight of at least its weight.
// Code: units
func TestLocality_ChoosesByTheScriptedTickets(t *testing.T) {
	for _, row := range []struct {
		name         string
		spots        []spot
		levels       uint64
		scopes       uint64
		tickets      map[uint64]string
		effectiveSum map[string]uint64
	}{
		{
			"LA", []spot{{0, 0, "up", "x", 1}, {0, 0, "down", "x", 1}, {0, 0, "up", "y", 2}},
			933_333, 2_700_000,
			map[uint64]string{0: "x", 699_999: "x", 700_000: "y", 2_699_999: "y"},
			map[string]uint64{"x": 700_000, "y": 2_000_000},
		},
		{
			"LB", []spot{{0, 0, "up", "west", 1}, {0, 0, "up", "east", 3}},
			1_000_000, 4_000_000,
			map[uint64]string{0: "east", 2_999_999: "east", 3_000_000: "west"},
			map[string]uint64{"east": 3_000_000, "west": 1_000_000},
		},
		{"single", []spot{{0, 0, "up", "x", 3}}, 1_000_000, 3_000_000, nil, map[string]uint64{"x": 3_000_000}},
		{
			"none left", []spot{{0, 0, "down", "x", 9}, {0, 0, "up", "y", 1}, {0, 0, "down", "y", 1}},
			466_666, 700_000, map[uint64]string{0: "y"}, map[string]uint64{"y": 700_000},
		},
		// A millionth at least, times the largest weight there is.
		{
			"tiny", []spot{{0, 1, "up", "x", math.MaxUint32}, {0, 2_000_000, "down", "x", math.MaxUint32}},
			1, math.MaxUint32, nil, map[string]uint64{"x": math.MaxUint32},
		},
	} {
		p := prepared(t, TopologyConfig{PanicOff: true}, true, row.spots)
		level := p.levels.things[0]
		if p.levels.total != row.levels || level.scopes.total != row.scopes {
			t.Errorf("%s: tickets below %d and %d, want %d and %d", row.name, p.levels.total, level.scopes.total, row.levels, row.scopes)
		}
		for number, want := range row.tickets {
			if got := level.scopes.at(number).choice.Locality; got != want {
				t.Errorf("%s: ticket %d chooses %q, want %q", row.name, number, got, want)
			}
		}
		for _, s := range level.scopes.things {
			if got, want := s.choice.EffectiveWeight, row.effectiveSum[s.choice.Locality]; got != want {
				t.Errorf("%s: %q has %d, want %d", row.name, s.choice.Locality, got, want)
			}
		}
		if len(level.scopes.things) != len(row.effectiveSum) {
			t.Errorf("%s: %d localities can be drawn, want %d", row.name, len(level.scopes.things), len(row.effectiveSum))
		}
	}
}

// percentages returns each group's part of the traffic in percent, and who panics.
func percentages(groups []*group) (percent []float64, panics []bool) {
	var total uint64
	for _, g := range groups {
		total += g.traffic
	}
	for _, g := range groups {
		percent = append(percent, 100*float64(g.traffic)/max(float64(total), 1))
		panics = append(panics, g.panics)
	}
	return percent, panics
}

// Envoy counts in whole percent, and its documentation rounds. Each row has its
// figures, how far ours are from them at most, and what ours are. The rows up to the
// weighted ones are those of its unit tests, without its states degraded and excluded.
//
// Claim: While every priority panics, they share the traffic in proportion to the weights that panic can use.
//
// Cases: B81.
func TestPriority_SharesTrafficAsPublished(t *testing.T) {
	type level struct{ size, healthy int }
	for _, row := range []struct {
		name      string
		levels    []level
		factor    uint32
		published []float64
		within    float64
		ours      []float64
		panics    bool
	}{
		{"all down", []level{{1, 0}, {1, 0}}, 140, []float64{50, 50}, 0, []float64{50, 50}, true},
		{"half and half", []level{{4, 2}, {4, 2}}, 140, []float64{70, 30}, 0, []float64{70, 30}, false},
		{"half and half at 100 %", []level{{4, 2}, {4, 2}}, 100, []float64{50, 50}, 0, []float64{50, 50}, false},
		{"quarters", []level{{4, 1}, {4, 1}}, 140, []float64{50, 50}, 0, []float64{50, 50}, true},
		{"three halves", []level{{2, 1}, {2, 1}, {2, 1}}, 140, []float64{70, 30, 0}, 0, []float64{70, 30, 0}, false},
		{"three quarters", []level{{4, 1}, {4, 1}, {4, 1}}, 140, []float64{35, 35, 30}, 0, []float64{35, 35, 30}, false},
		{"only the last", []level{{5, 0}, {5, 0}, {5, 5}}, 140, []float64{0, 0, 100}, 0, []float64{0, 0, 100}, false},
		{"all down by size", []level{{5, 0}, {3, 0}, {2, 0}}, 140, []float64{50, 30, 20}, 0, []float64{50, 30, 20}, true},
		{"six and three, all down", []level{{6, 0}, {3, 0}}, 140, []float64{67, 33}, 0.4, []float64{66.67, 33.33}, true},
		{"one and two, all down", []level{{1, 0}, {2, 0}}, 140, []float64{34, 66}, 0.67, []float64{33.33, 66.67}, true},
		{"four and six, one alive", []level{{4, 0}, {6, 1}}, 140, []float64{40, 60}, 0, []float64{40, 60}, true},
		{"fifths", []level{{5, 1}, {5, 1}, {5, 1}}, 140, []float64{34, 33, 33}, 0.67, []float64{33.33, 33.33, 33.33}, true},
		{"four fifths of the last", []level{{5, 0}, {5, 0}, {5, 4}}, 140, []float64{0, 0, 100}, 0, []float64{0, 0, 100}, false},
		{"two fifths of the last", []level{{5, 0}, {5, 0}, {5, 2}}, 140, []float64{34, 33, 33}, 0.67, []float64{33.33, 33.33, 33.33}, true},
		{"fourteen, three alive", []level{{5, 0}, {6, 2}, {3, 1}}, 140, []float64{37, 42, 21}, 1.3, []float64{35.71, 42.86, 21.43}, true},
		{"three threes", []level{{3, 0}, {3, 0}, {3, 0}}, 140, []float64{34, 33, 33}, 0.67, []float64{33.33, 33.33, 33.33}, true},
		{"weighted", []level{{10, 6}, {10, 10}}, 100, []float64{60, 40}, 0, []float64{60, 40}, false},
		{"100", []level{{100, 100}, {100, 100}}, 140, []float64{100, 0}, 0, []float64{100, 0}, false},
		{"72", []level{{100, 72}, {100, 72}}, 140, []float64{100, 0}, 0, []float64{100, 0}, false},
		{"71", []level{{100, 71}, {100, 71}}, 140, []float64{99, 1}, 0.4, []float64{99.4, 0.6}, false},
		{"50", []level{{100, 50}, {100, 50}}, 140, []float64{70, 30}, 0, []float64{70, 30}, false},
		{"25 and 100", []level{{100, 25}, {100, 100}}, 140, []float64{35, 65}, 0, []float64{35, 65}, false},
		{"0 and 100", []level{{100, 0}, {100, 100}}, 140, []float64{0, 100}, 0, []float64{0, 100}, false},
		{"25 and 25", []level{{100, 25}, {100, 25}}, 140, []float64{50, 50}, 0, []float64{50, 50}, true},
		{"72, 72 and 100", []level{{100, 72}, {100, 72}, {100, 100}}, 140, []float64{100, 0, 0}, 0, []float64{100, 0, 0}, false},
		{"71, 71 and 100", []level{{100, 71}, {100, 71}, {100, 100}}, 140, []float64{99, 1, 0}, 0.4, []float64{99.4, 0.6, 0}, false},
		{"25, 25 and 100", []level{{100, 25}, {100, 25}, {100, 100}}, 140, []float64{35, 35, 30}, 0, []float64{35, 35, 30}, false},
		// The documentation says 36/36/28. Its code says 34/33/33, as all three panic.
		{"25, 25 and 20", []level{{100, 25}, {100, 25}, {100, 20}}, 140, []float64{34, 33, 33}, 0.67, []float64{33.33, 33.33, 33.33}, true},
		// The documentation says 50/50 for 50 and 60 %, its own code 70/30.
		{"50 and 60", []level{{100, 50}, {100, 60}}, 140, []float64{70, 30}, 0, []float64{70, 30}, false},
	} {
		var spots []spot
		for i, l := range row.levels {
			spots = append(spots, crowd(uint32(i), l.size, l.healthy)...)
		}
		cfg, _ := TopologyConfig{Overprovisioning: row.factor}.withDefaults()
		groups, err := plan(spotView(t, spots), cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		percent, panics := percentages(groups)
		for i := range percent {
			if math.Abs(percent[i]-row.ours[i]) > 0.005 {
				t.Errorf("%s: priority %d gets %.3f %%, want %v", row.name, i, percent[i], row.ours[i])
			}
			if math.Abs(percent[i]-row.published[i]) > row.within+1e-9 {
				t.Errorf("%s: priority %d gets %.3f %%, published %v within %v", row.name, i, percent[i], row.published[i], row.within)
			}
			if panics[i] != row.panics {
				t.Errorf("%s: priority %d panics: %t", row.name, i, panics[i])
			}
		}
	}
}

// Cases: G7.
// Claim: Capacities that exactly add up to all of the traffic are not short, whatever the rounding.
// Code: coverAll
// Claim: What rounding leaves over goes to the first priority that can carry anything.
// Code: fillUp
func TestPriority_ExactlyFullIsNotShort(t *testing.T) {
	dead := spot{0, 5, "down", "", 0}
	thirds := together([]spot{dead}, crowd(1, 3, 1), crowd(2, 3, 1), crowd(3, 3, 1))
	p := prepared(t, TopologyConfig{Overprovisioning: 100, FailClosed: true}, false, thirds)
	if got := p.levels.ends; len(got) != 3 || got[0] != 333_334 || got[1] != 666_667 || got[2] != 1_000_000 {
		t.Errorf("three exact thirds end at %v", got)
	}
	for _, l := range p.levels.things {
		if l.rejects || l.choice.Panic {
			t.Errorf("exact thirds panic: %+v", l.choice)
		}
	}
	// A little less than a third is short, though the units are the same.
	almost := together([]spot{dead}, crowd(1, 3, 1), crowd(2, 3, 1), []spot{{3, 1_000_000, "up", "", 0}, {3, 2_000_001, "down", "", 0}})
	p = prepared(t, TopologyConfig{Overprovisioning: 100, FailClosed: true}, false, almost)
	if l := p.levels.things[0]; !l.rejects || p.levels.total != 1 {
		t.Errorf("less than full does not panic everywhere: %+v, tickets below %d", l.choice, p.levels.total)
	}
}

// Claim: A priority with an eligible member has a capacity of at least one unit.
// Code: units
func TestPriority_SmallestShareIsOneUnit(t *testing.T) {
	tiny := []spot{{0, 1, "up", "", 0}, {0, 2_000_000, "down", "", 0}}
	p := prepared(t, TopologyConfig{PanicOff: true}, false, tiny)
	if p.levels.total != 1 || p.levels.things[0].choice.Priority != 0 {
		t.Errorf("alone it has tickets below %d", p.levels.total)
	}
	p = prepared(t, TopologyConfig{}, false, together(tiny, crowd(1, 1, 1)))
	if p.levels.ends[0] != 1 || p.levels.total != 1_000_000 {
		t.Errorf("beside a full priority the tickets end at %v", p.levels.ends)
	}
	// Weights as large as they can be overflow nothing.
	huge := []spot{{0, math.MaxUint32, "up", "", 0}, {0, math.MaxUint32, "down", "", 0}}
	p = prepared(t, TopologyConfig{Overprovisioning: math.MaxUint32}, false, huge)
	if p.levels.total != 1_000_000 {
		t.Errorf("the largest factor gives tickets below %d", p.levels.total)
	}
}

// Claim: A priority panics exactly while capacity is short and its eligible weight is strictly below the threshold.
// Code: shareOut, below
func TestPriority_PanicsStrictlyBelowTheThreshold(t *testing.T) {
	for _, row := range []struct {
		name      string
		spots     []spot
		threshold uint32
		panics    []bool
	}{
		{"exactly at it", crowd(0, 2, 1), 50, []bool{false}},
		{"just below it", []spot{{0, 1_000_000, "up", "", 0}, {0, 1_000_001, "down", "", 0}}, 50, []bool{true}},
		{"just above it", []spot{{0, 1_000_001, "up", "", 0}, {0, 1_000_000, "down", "", 0}}, 50, []bool{false}},
		{"threshold 1", []spot{{0, 1, "up", "", 0}, {0, 99, "down", "", 0}}, 1, []bool{false}},
		{"threshold 100", crowd(0, 10, 9), 100, []bool{true}},
		{"5 of 10", crowd(0, 10, 5), 50, []bool{false}},
		{"4 of 10", crowd(0, 10, 4), 50, []bool{true}},
		{"one of two below it", together(crowd(0, 10, 4), crowd(1, 10, 5)), 50, []bool{true, false}},
		{"below it and not short", together(crowd(0, 10, 4), crowd(1, 10, 6)), 50, []bool{false, false}},
		{"largest weights", []spot{{0, math.MaxUint32 / 2, "up", "", 0}, {0, math.MaxUint32, "down", "", 0}}, 34, []bool{true}},
	} {
		cfg, _ := TopologyConfig{Overprovisioning: 100, PanicThreshold: row.threshold}.withDefaults()
		groups, err := plan(spotView(t, row.spots), cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range groups {
			if g.panics != row.panics[i] {
				t.Errorf("%s: priority %d panics: %t", row.name, i, g.panics)
			}
		}
	}
	if !below(0, math.MaxUint64, 1) || below(math.MaxUint64, math.MaxUint64, 100) || !below(math.MaxUint64-1, math.MaxUint64, 100) ||
		!below(math.MaxUint64/100*99, math.MaxUint64, 100) || below(1<<63, 1<<63+1, 99) {
		t.Error("128 bits are not compared")
	}
}

// Thousands of priorities whose capacities have nothing in common take no longer
// than a control loop can wait.
func TestPriority_AddsThousandsOfFractionsInTime(t *testing.T) {
	const n = 4096
	parts := make([]ratio, n)
	for i := range parts {
		parts[i] = carried(uint64(i+1), uint64(i+1)*n+uint64(i%2), 100)
	}
	begin := time.Now()
	if coverAll(parts) {
		t.Error("less than all covers all")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("%d fractions took %v", n, took)
	}
	for i := range parts {
		parts[i] = carried(uint64(i+1), uint64(i+1)*n, 100)
	}
	if !coverAll(parts) {
		t.Errorf("%d times 1/%d is short", n, n)
	}
}

// Claim: Locality refuses to prepare effective weights whose sum passes 64 bits.
// Code: plan
func TestLocality_RefusesEffectiveWeightsThatOverflow(t *testing.T) {
	// 4294 times 2^32-1 million fit, and no more.
	var spots []spot
	for i := range 4295 {
		spots = append(spots, spot{0, 0, "up", fmt.Sprintf("zone-%04d", i), math.MaxUint32})
	}
	cfg, _ := TopologyConfig{}.withDefaults()
	if _, err := plan(spotView(t, spots[:4294]), cfg, true); err != nil {
		t.Errorf("a sum that fits is refused: %v", err)
	}
	topology, err := newTopology(cfg, "Locality", true)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := topology.prepare(spotView(t, spots))
	field, ok := err.(*poise.FieldError)
	if picker != nil || !ok || field.Field != "LocalityWeight" || field.Err != poise.ErrWeightOverflow {
		t.Errorf("a sum that does not fit gives %v", err)
	}
	if _, err := plan(spotView(t, spots), cfg, false); err != nil {
		t.Errorf("where localities do not matter: %v", err)
	}
}

func TestWheel_EveryTicketHasItsThing(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var w weightedList[int]
		var want []int
		for thing := range n {
			w.add(uint64(1+thing%3), thing)
			for range 1 + thing%3 {
				want = append(want, thing)
			}
		}
		for number := range w.total {
			if got := w.at(number); got != want[number] {
				t.Errorf("ticket %d of %d things chooses %d, want %d", number, n, got, want[number])
			}
		}
	}
}

func TestWheel_DrawsAmongThoseThatFitByTheirTickets(t *testing.T) {
	var w weightedList[int]
	for thing, weight := range []uint64{2, 3, 1, 4} {
		w.add(weight, thing)
	}
	for _, row := range []struct{ fits, want []int }{
		{nil, nil},
		{[]int{2}, []int{2}},
		{[]int{0, 3}, []int{0, 0, 3, 3, 3, 3}},
		{[]int{1, 2}, []int{1, 1, 1, 2}},
		{[]int{0, 1, 2, 3}, []int{0, 0, 1, 1, 1, 2, 3, 3, 3, 3}},
	} {
		fits := func(thing int) bool { return slices.Contains(row.fits, thing) }
		for number, want := range row.want {
			// The middle of what a stream from a key turns into this ticket.
			share := math.MaxUint64 / uint64(len(row.want))
			got, found := w.drawIf(&draws{byKey: true, state: uint64(number)*share + share/2}, fits)
			if !found || got != want {
				t.Errorf("among %v ticket %d chooses %d (%t), want %d", row.fits, number, got, found, want)
			}
		}
		if _, found := w.drawIf(&draws{byKey: true}, fits); found != (row.fits != nil) || w.some(fits) != found {
			t.Errorf("among %v something is found: %t", row.fits, found)
		}
	}
}
