package main

// verdict is what a search makes of a fault.
type verdict string

const (
	found  verdict = "found"
	raced  verdict = "found, as a data race"
	crash  verdict = "found, as a crash"
	missed verdict = "missed"
	notRun verdict = "not run" // the search has no subject for it
)

// fault is one line of the library, or two, changed so that its promise is broken.
type fault struct {
	what string // a row of TRACK_RECORD.md
	file string
	edit []string // old and new text by turns; each old one occurs once
	// histories and models are the tests, as go test -run has it, that are to find it;
	// "" for none.
	histories, models string
	// plain, yielding and explored are what was found: by histories in the plain build
	// and in the build with hooks, and by models.
	plain, yielding, explored verdict
}

// faults are those that were planted by hand, in the order of the table.
var faults = []fault{
	{
		what: "`InFlight.Take` stores where it compares and swaps", file: "pkg/inflight.go",
		edit: []string{
			"\t\tif f.used.CompareAndSwap(used, used+1) {\n\t\t\treturn nil\n\t\t}\n",
			"\t\tf.used.Store(used + 1)\n\t\treturn nil\n",
		},
		histories: "TestInFlight_|TestLease_", models: "TestInFlight_|TestLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Lease.Release` reads its flag and then sets it", file: "pkg/inflight.go",
		edit: []string{
			"func (l *Lease) claim() bool { return l.of != nil && l.ended.CompareAndSwap(0, 1) }",
			"func (l *Lease) claim() bool {\n\tif l.of == nil || l.ended.Load() != 0 {\n\t\treturn false\n\t}\n\tl.ended.Store(1)\n\treturn true\n}",
		},
		histories: "TestInFlight_|TestLease_", models: "TestInFlight_|TestLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Generator.Uint64` loads and stores where it adds", file: "pkg/generator.go",
		edit: []string{
			"\treturn Mix64(g.state.Add(gamma))\n",
			"\tnext := g.state.Load() + gamma\n\tg.state.Store(next)\n\treturn Mix64(next)\n",
		},
		histories: "TestGenerator_", models: "TestGenerator_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`RoundRobin` stores where it compares and swaps", file: "pkg/policy/round_robin.go",
		edit: []string{
			"\t\tif p.policy.cursor.CompareAndSwap(cursor, uint64(chosen)+1) {\n\t\t\treturn p.view.Select(chosen)\n\t\t}\n",
			"\t\tp.policy.cursor.Store(uint64(chosen) + 1)\n\t\treturn p.view.Select(chosen)\n",
		},
		histories: "TestRoundRobin_", models: "TestRoundRobin_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`RoundRobin` does so where it passes over the tried", file: "pkg/policy/round_robin.go",
		edit: []string{
			"\t\tif p.policy.cursor.CompareAndSwap(cursor, uint64(chosen)+1) {\n\t\t\texplain(p.view, q, \"RoundRobin\", RuleTurn, chosen, rest.Len(), 1)\n\t\t\treturn p.view.Select(chosen)\n\t\t}\n",
			"\t\tp.policy.cursor.Store(uint64(chosen) + 1)\n\t\texplain(p.view, q, \"RoundRobin\", RuleTurn, chosen, rest.Len(), 1)\n\t\treturn p.view.Select(chosen)\n",
		},
		histories: "TestRoundRobin_", models: "TestRoundRobin_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`SmoothWeightedRoundRobin` takes no lock where it passes over the tried", file: "pkg/policy/smooth_weighted_round_robin.go",
		edit: []string{
			"left *poise.Untried) (richest int) {\n\tp.mu.Lock()\n\tdefer p.mu.Unlock()\n",
			"left *poise.Untried) (richest int) {\n",
		},
		histories: "TestSmoothWeightedRoundRobin_", models: "TestSmoothWeightedRoundRobin_Retries", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Tried.Add` stores the count before the entry", file: "pkg/tried.go",
		edit: []string{
			"\tn := int(t.count.Load())\n\tif n < len(t.inline) {", "\tn := int(t.count.Load())\n\tt.count.Store(uint32(n + 1))\n\tif n < len(t.inline) {",
			"\tt.count.Store(uint32(n + 1))\n\treturn true\n", "\treturn true\n",
		},
		histories: "TestTried_", models: "TestTried_", plain: crash, yielding: raced, explored: found,
	},
	{
		what: "`Tried.Add` takes no lock", file: "pkg/tried.go",
		edit:      []string{"\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\tif t.Has(id, number) {", "\tif t.Has(id, number) {"},
		histories: "TestTried_", models: "TestTried_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Slots.Begin` reads the state before it takes its slot", file: "pkg/dispatch/slots.go",
		edit: []string{
			"\tif slot.lease, err = s.inFlight.Acquire(); err != nil {", "\tstate := s.state.Load()\n\tif slot.lease, err = s.inFlight.Acquire(); err != nil {",
			"\tslot.of = s\n\tif s.state.Load() != slotsOpen {", "\tslot.of = s\n\tif state != slotsOpen {",
		},
		histories: "TestSlots_", models: "TestSlots_|TestSlot_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "A `Loop`'s call reads the state before it takes its slot", file: "pkg/dispatch/slots.go",
		edit: []string{
			"func (s *Slots) take() error {\n", "func (s *Slots) take() error {\n\tstate := s.state.Load()\n",
			"\tif s.state.Load() != slotsOpen {\n\t\ts.give()", "\tif state != slotsOpen {\n\t\ts.give()",
		},
		histories: "TestPublication_|TestFollowing_", models: "TestLoop_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "`RetryBudget.Spend` looks first and takes second", file: "pkg/dispatch/retry_budget.go",
		edit: []string{
			"\t\tif b.saved.CompareAndSwap(saved, saved-retry) {\n\t\t\treturn true\n\t\t}\n",
			"\t\tb.saved.Store(b.saved.Load() - retry)\n\t\treturn true\n",
		},
		histories: "TestRetryBudget_", models: "TestRetryBudget_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit.Acquire` takes no lock", file: "pkg/health/circuit.go",
		edit: []string{
			"\tc.mu.Lock()\n\tp, err := c.acquire(now)\n\tundelivered := c.undelivered()\n\tc.mu.Unlock()\n",
			"\tp, err := c.acquire(now)\n\tundelivered := c.undelivered()\n",
		},
		histories: "TestCircuit_", models: "TestCircuit_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit.End` takes no lock", file: "pkg/health/circuit.go",
		edit: []string{
			"\tc.mu.Lock()\n\terr := c.end(p, outcome, now)\n\tundelivered := c.undelivered()\n\tc.mu.Unlock()\n",
			"\terr := c.end(p, outcome, now)\n\tundelivered := c.undelivered()\n",
		},
		histories: "TestCircuit_", models: "TestCircuit_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit.End` forgets the epoch", file: "pkg/health/circuit.go",
		edit:      []string{"\tcase p.epoch != c.epoch:\n\t\treturn ErrPermitStale\n", ""},
		histories: "TestCircuit_", models: "TestCircuit_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit.End` leaves a permit as it is", file: "pkg/health/circuit.go",
		edit:      []string{"\tt.number++\n\tt.next, c.free = c.free, t\n", ""},
		histories: "TestCircuit_", models: "TestCircuit_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit` reclaims no trial", file: "pkg/health/circuit.go",
		edit:      []string{"\t\treturn t.expired\n", "\t\tt.expired = false\n\t\treturn false\n"},
		histories: "TestCircuit_", models: "TestCircuit_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`Circuit` tells its Observer from two callers at once", file: "pkg/health/circuit_event.go",
		edit:   []string{"return len(c.events) > 0 && !c.delivering }", "return len(c.events) > 0 }"},
		models: "TestCircuit_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`Circuit` drops what came while the last event was told", file: "pkg/health/circuit_event.go",
		edit:   []string{"\t\tc.delivering = false\n", "\t\tc.delivering, c.events = false, nil\n"},
		models: "TestCircuit_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`PeakEWMA` reads a sample without a second look at the count", file: "pkg/peak_ewma.go",
		edit:      []string{"\t\tif e.count.Load() == count {\n", "\t\tif true {\n"},
		histories: "TestPeakEWMA|TestTimedLease_", models: "TestPeakEWMA_|TestTimedLease_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "`PeakEWMA.Observe` takes no lock", file: "pkg/peak_ewma.go",
		edit:      []string{"\te.mu.Lock()\n\tdefer e.mu.Unlock()\n\tcount := e.count.Load()\n", "\tcount := e.count.Load()\n"},
		histories: "TestPeakEWMA|TestTimedLease_", models: "TestPeakEWMA_|TestTimedLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`PeakEWMA.Observe` writes where readers are", file: "pkg/peak_ewma.go",
		edit:      []string{"last, next := &e.samples[count%2], &e.samples[(count+1)%2]\n\tcost, at, elapsed", "last, next := &e.samples[count%2], &e.samples[count%2]\n\tcost, at, elapsed", "\te.count.Store(count + 1)\n", ""},
		histories: "TestPeakEWMA|TestTimedLease_", models: "TestPeakEWMA_|TestTimedLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`PeakEWMA.Load` reads the estimate first", file: "pkg/peak_ewma.go",
		edit: []string{
			"\tcalls := e.inFlight.Current()\n\tload := e.estimate(now) * (float64(calls) + 1)\n",
			"\testimate := e.estimate(now)\n\tload := estimate * (float64(e.inFlight.Current()) + 1)\n",
		},
		histories: "TestPeakEWMA|TestTimedLease_", models: "TestPeakEWMA_|TestTimedLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`TimedLease.Done` gives the slot back first", file: "pkg/peak_ewma.go",
		edit: []string{
			"\tl.of.Ended(Result{Outcome: outcome}, state == callAnswered, l.began, now)\n\tl.of.inFlight.used.Add(^uint64(0))\n",
			"\tl.of.inFlight.used.Add(^uint64(0))\n\tl.of.Ended(Result{Outcome: outcome}, state == callAnswered, l.began, now)\n",
		},
		histories: "TestPeakEWMA|TestTimedLease_", models: "TestPeakEWMA_|TestTimedLease_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`bufferPool.take` gives one buffer to two picks", file: "pkg/policy/buffer_pool.go",
		edit:   []string{"buffer := s.slots[i].Swap(nil); buffer != nil", "buffer := s.slots[i].Load(); buffer != nil"},
		models: "TestKeyedPicks_|TestBoundedLoadRendezvous_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`Maglev` picks by the newest table, not by its own", file: "pkg/policy/maglev.go",
		edit: []string{
			"owners: turns.owners, custom: custom}, nil", "owners: turns.owners, custom: custom, of: p}, nil",
			"\tcustom  *streamHash // nil: FNV-1a\n}", "\tcustom  *streamHash // nil: FNV-1a\n\tof      *Maglev\n}",
			"\treturn p.view.Select(int(p.owners[p.table.slots[p.table.slot(hash)]]))\n}\n\n",
			"\ttable := p.of.newest.Load().table\n\treturn p.view.Select(int(p.owners[table.slots[table.slot(hash)]]))\n}\n\n",
		},
		models: "TestTables_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`Maglev` counts tables in two steps", file: "pkg/policy/maglev.go",
		edit: []string{
			"\t\tturns.table.generation = p.generations.Add(1)\n",
			"\t\tturns.table.generation = p.generations.Load() + 1\n\t\tp.generations.Store(turns.table.generation)\n",
		},
		models: "TestTables_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`Priority.Prepare` takes no lock", file: "pkg/policy/topology.go",
		edit:   []string{"\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\tc := compiler", "\tc := compiler"},
		models: "TestTopology_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`SlowStart.Warming` takes no lock", file: "pkg/transform/slow_start.go",
		edit:      []string{"\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn len(s.warming)\n", "\treturn len(s.warming)\n"},
		histories: "TestSlowStart_", models: "TestSlowStart_", plain: missed, yielding: raced, explored: raced,
	},
	{
		what: "A call that is refused while it held a slot for a moment does not say so", file: "pkg/dispatch/slots.go",
		edit:      []string{"\tif s.state.Load() != slotsOpen {\n\t\ts.give()\n", "\tif s.state.Load() != slotsOpen {\n\t\ts.inFlight.Give()\n"},
		histories: "TestFollowing_", models: "TestLoop_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "A call that ends does not say so", file: "pkg/dispatch/slots.go",
		edit:      []string{"func (s *Slots) give() {\n\ts.inFlight.Give()\n\ts.retire()\n", "func (s *Slots) give() {\n\ts.inFlight.Give()\n"},
		histories: "TestFollowing_", models: "TestLoop_", plain: found, yielding: found, explored: found,
	},
	{
		what: "A publication closes admission before it publishes", file: "pkg/dispatch/publication.go",
		edit: []string{
			"\tp.current.Store(next)\n\tfor _, s := range shut {\n\t\ts.Drain()\n\t}\n",
			"\tfor _, s := range shut {\n\t\ts.Drain()\n\t}\n\tp.current.Store(next)\n",
		},
		histories: "TestPublication_|TestFollowing_", models: "TestPublication_|TestLoop_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "`ActiveHealth.Reserve` takes no lock", file: "pkg/health/active_health.go",
		edit:      []string{"\th.mu.Lock()\n\tdefer h.mu.Unlock()\n\treturn h.reserve(now, chance)\n", "\treturn h.reserve(now, chance)\n"},
		histories: "TestActiveHealth_", models: "TestActiveHealth_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`OutcomeWindow.Record` takes no lock", file: "pkg/health/outcome_window.go",
		edit: []string{
			"\tw.mu.Lock()\n\tat := int64(0)\n", "\tat := int64(0)\n",
			"\tw.publish(at)\n\tw.mu.Unlock() // not deferred: nothing above can panic, and this is every call\n", "\tw.publish(at)\n",
		},
		histories: "TestOutcomeWindow_", models: "TestOutcomeWindow_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`OutcomeWindow` counts a record before its penalty is written", file: "pkg/health/outcome_window.go",
		edit: []string{
			"\tcount := w.count.Load()\n\tnext := ", "\tcount := w.count.Load()\n\tw.count.Store(count + 1)\n\tnext := ",
			"\tnext.at.Store(at)\n\tw.count.Store(count + 1)\n", "\tnext.at.Store(at)\n",
		},
		histories: "TestOutcomeWindow_", models: "TestOutcomeWindow_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`OutcomeWindow` reads a penalty without a second look at the count", file: "pkg/health/outcome_window.go",
		edit:      []string{"\t\tif w.count.Load() == count {\n", "\t\tif true {\n"},
		histories: "TestOutcomeWindow_", models: "TestOutcomeWindow_", plain: missed, yielding: found, explored: found,
	},
	{
		what: "`OutlierCall.Record` stores runs where it compares and swaps", file: "pkg/health/outlier_subject.go",
		edit: []string{
			"\t\tif s.runs.CompareAndSwap(before, after) {\n\t\t\treturn s.of.long(after)&^s.of.long(before) != 0\n\t\t}\n",
			"\t\ts.runs.Store(after)\n\t\treturn s.of.long(after)&^s.of.long(before) != 0\n",
		},
		histories: "TestOutlierSubject_", models: "TestOutlierSubject_", plain: found, yielding: found, explored: found,
	},
	{
		what: "`OutlierController.Sweep` takes no lock", file: "pkg/health/outlier_controller.go",
		edit:   []string{"\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tif err := c.check(members)", "\tif err := c.check(members)"},
		models: "TestOutlierController_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "`OutlierController` readmits with the counters of before", file: "pkg/health/outlier_controller.go",
		edit: []string{
			"\ts.current.Store(nil)\n\tsweep.Changes", "\tsweep.Changes",
			"\ts.out, s.judged = false, callCounts{}\n\ts.current.Store(&period{of: c})\n", "\ts.out, s.judged = false, callCounts{}\n",
		},
		models: "TestOutlierController_", plain: notRun, yielding: notRun, explored: found,
	},
	{
		what: "A publication leaves out `Remove`", file: "pkg/dispatch/publication.go",
		edit:      []string{"\tfor _, s := range gone {\n\t\ts.Remove()\n\t}\n", "\t_ = gone\n"},
		histories: "TestPublication_|TestFollowing_", models: "TestPublication_|TestLoop_", plain: missed, yielding: missed, explored: missed,
	},
}
