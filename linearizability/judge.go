package linearizability

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// patience is how long Porcupine may take over one history. A history that it
// could not decide by then has failed: Unknown is not Ok.
const patience = 30 * time.Second

// Verdict is what became of a history.
type Verdict = porcupine.CheckResult

// The verdicts.
const (
	Ok      = porcupine.Ok
	Illegal = porcupine.Illegal
	Unknown = porcupine.Unknown
)

// Judge decides whether the specification allows the history.
func Judge(spec seq.Spec, h seq.History) Verdict {
	return porcupine.CheckOperationsTimeout(model(spec), operations(h), patience)
}

// model is the specification as Porcupine wants it. A specification of spec/seq
// may lead from one state to several, so its states here are sets of those.
func model(spec seq.Spec) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{spec.Initial()} },
		Step: func(state, input, _ any) []any { return spec.Next(state, input.(seq.Op)) },
		Partition: func(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
			for _, part := range spec.Parts(history(ops)) {
				parts = append(parts, operations(part))
			}
			return parts
		},
		DescribeOperation: func(input, _ any) string { return input.(seq.Op).String() },
	}
	return m.ToModel()
}

// operations returns the calls in Porcupine's form. The whole call is the input:
// what it returned is part of what the specification is asked about.
func operations(h seq.History) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(h))
	for i, op := range h {
		ops[i] = porcupine.Operation{ClientId: op.Task, Input: op, Call: op.Call, Output: op.Result, Return: op.Return}
	}
	return ops
}

func history(ops []porcupine.Operation) seq.History {
	h := make(seq.History, len(ops))
	for i, op := range ops {
		h[i] = op.Input.(seq.Op)
	}
	return h
}
