package seq_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// register is a variable that starts at 0.
var register = seq.Define("register", 0, func(state int, op seq.Op) []int {
	switch op.Name {
	case "write":
		return []int{op.Arg.(int)}
	default:
		return seq.One(op.Result == state, state)
	}
})

func write(task, v int, call, ret int64) seq.Op {
	return seq.Op{Task: task, Name: "write", Arg: v, Call: call, Return: ret}
}

func read(task, v int, call, ret int64) seq.Op {
	return seq.Op{Task: task, Name: "read", Result: v, Call: call, Return: ret}
}

func TestCheck_JudgesRegisterHistories(t *testing.T) {
	for _, c := range []struct {
		name string
		h    seq.History
		want bool
	}{
		{"the empty history is allowed", nil, true},
		{"a read sees the write before it", seq.History{write(0, 1, 0, 1), read(1, 1, 2, 3)}, true},
		{"a read does not miss the write before it", seq.History{write(0, 1, 0, 1), read(1, 0, 2, 3)}, false},
		{"a read may miss a write that overlaps it", seq.History{write(0, 1, 0, 2), read(1, 0, 1, 3)}, true},
		{"equal stamps overlap", seq.History{write(0, 1, 0, 1), read(1, 0, 1, 2)}, true},
		{"two reads do not see a write go away", seq.History{
			write(0, 1, 0, 9), read(1, 1, 1, 2), read(2, 0, 3, 4)}, false},
		{"two overlapping reads may disagree", seq.History{
			write(0, 1, 0, 9), read(1, 1, 1, 3), read(2, 0, 2, 4)}, true},
		{"the order of entries does not matter", seq.History{
			read(2, 0, 3, 4), read(1, 1, 1, 2), write(0, 1, 0, 9)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := seq.Check(register, c.h); got != c.want {
				t.Errorf("Check = %t, want %t for\n%v", got, c.want, c.h)
			}
		})
	}
}

func TestCheck_JudgesALongHistoryWithMemory(t *testing.T) {
	var h seq.History
	for i := range 20 {
		h = append(h, write(i, i, 0, 100))
	}
	h = append(h, read(20, 7, 101, 102), read(21, 8, 103, 104))
	if seq.Check(register, h[:10]) != true || seq.Check(register, h[12:]) {
		t.Error("a register was seen to change without a write")
	}
}

func TestEach_JudgesEveryObjectOnItsOwn(t *testing.T) {
	registers := seq.Each(register, func(op seq.Op) int { return op.Task })
	good := seq.History{write(0, 1, 0, 1), read(1, 0, 2, 3), read(0, 1, 4, 5)}
	if !seq.Check(registers, good) {
		t.Error("one register's write was seen by another register's read")
	}
	if seq.Check(registers, seq.History{write(0, 1, 0, 1), read(1, 0, 2, 3), read(0, 0, 4, 5)}) {
		t.Error("a read that misses its own register's write was allowed")
	}
}

func TestStepwise_LetsOthersActBetweenTheSteps(t *testing.T) {
	twice := seq.Stepwise(register, func(op seq.Op) []seq.Op { // a write that passes through 9
		if op.Name != "write" {
			return []seq.Op{op}
		}
		before := op
		before.Arg = 9
		return []seq.Op{before, op}
	})
	if !seq.Check(twice, seq.History{write(0, 1, 0, 5), read(1, 9, 1, 2), read(1, 1, 3, 4)}) {
		t.Error("a read between the two steps was not allowed")
	}
	if seq.Check(twice, seq.History{write(0, 1, 0, 1), read(1, 5, 2, 3)}) {
		t.Error("a read of what was never written was allowed")
	}
	if seq.Check(register, seq.History{write(0, 1, 0, 5), read(1, 9, 1, 2), read(1, 1, 3, 4)}) {
		t.Error("a read between the steps was allowed of a register without")
	}
}

func TestAfter_StartsWhereTheCallsLead(t *testing.T) {
	started := seq.After(register, write(0, 1, 0, 0), write(0, 2, 0, 0))
	good, bad := seq.History{read(1, 2, 0, 1)}, seq.History{read(1, 1, 0, 1)}
	if !seq.Check(started, good) || seq.Check(started, bad) {
		t.Error("the register does not start at 2")
	}
	if !seq.Check(register, seq.Whole(started, good)) || seq.Check(register, seq.Whole(started, bad)) {
		t.Error("the whole history is judged otherwise")
	}
	if got := seq.Whole(register, good); len(got) != 1 {
		t.Errorf("Whole = %v for a specification without calls before", got)
	}
}

func TestHistory_CountsCallsThatOverlap(t *testing.T) {
	h := seq.History{write(0, 1, 0, 2), write(1, 1, 2, 6), write(2, 1, 3, 4), write(3, 1, 7, 8)}
	if got := h.Width(); got != 2 {
		t.Errorf("Width = %d, want 2", got)
	}
	if got := h.Overlapping(); got != 3 {
		t.Errorf("Overlapping = %d, want 3", got)
	}
}

func TestHistory_ComesBackFromJSON(t *testing.T) {
	h := seq.History{
		{Task: 1, Name: "nothing", Call: -1, Return: 0},
		{Name: "Acquire", Arg: 3, Result: true, Call: 1, Return: 2},
		{Name: "Begin", Arg: 0, Result: seq.Draining},
		{Name: "Draw", Result: uint64(1) << 63},
		{Name: "Report", Arg: seq.Verdict{Permit: 1, At: 2, Failed: true}, Result: false},
		{Name: "Reserve", Arg: seq.Stamped{Number: 1, At: 2}, Result: 0},
		{Name: "Observe", Arg: seq.Sample{Call: 1, Took: 2, At: 3}},
		{Name: "Upsert", Arg: 1, Result: seq.Applied{Effect: "inserted", Revision: 1}},
	}
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back seq.History
	if err := json.Unmarshal(b, &back); err != nil || !slices.Equal(h, back) {
		t.Errorf("%v\nbecame\n%v\nby way of %s", h, back, b)
	}
}

func TestHistory_RefusesWhatJSONCannotHold(t *testing.T) {
	if b, err := json.Marshal(seq.History{{Name: "x", Arg: 1.5}}); err == nil {
		t.Errorf("1.5 was written as %s", b)
	}
	var h seq.History
	for _, text := range []string{`[{"arg":{"float":1}}]`, `[{"arg":{"int":"x"}}]`, `[{"name":1}]`} {
		if err := json.Unmarshal([]byte(text), &h); err == nil {
			t.Errorf("%s was read as %v", text, h)
		}
	}
}
