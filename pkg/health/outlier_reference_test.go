package health_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// slowRate returns a success rate, and whether there are enough samples for it.
func slowRate(o health.OutlierObservation, minimum int) (rate float64, enough bool) {
	samples := new(big.Int).SetUint64(o.Successes)
	samples.Add(samples, new(big.Int).SetUint64(o.Failures))
	if samples.Sign() == 0 {
		return 0, false
	}
	rate, _ = new(big.Rat).SetFrac(new(big.Int).SetUint64(o.Successes), samples).Float64()
	return rate, samples.Cmp(big.NewInt(int64(minimum))) >= 0
}

// slowDetect is an OutlierDetector without a thought for cost: it lists the rates,
// computes with lists, and ejects one after the other while the limits hold.
func slowDetect(cfg health.OutlierConfig, members []health.OutlierObservation) health.OutlierReport {
	var report health.OutlierReport
	var rates []float64
	for _, m := range members {
		if rate, enough := slowRate(m, cfg.MinimumSamples); enough && !m.Ejected && !m.Unavailable {
			rates = append(rates, rate)
		}
	}
	report.Considered = len(rates)
	if len(rates) >= cfg.MinimumMembers {
		mean := func(of []float64) float64 {
			sum := 0.0
			for _, x := range of {
				sum += x
			}
			return sum / float64(len(of))
		}
		report.Compared, report.Mean = true, mean(rates)
		var squares []float64
		for _, r := range rates {
			squares = append(squares, float64((r-report.Mean)*(r-report.Mean)))
		}
		report.Deviation = math.Sqrt(mean(squares))
		report.Bar = max(report.Mean-float64(cfg.Factor*report.Deviation), 0)
	}
	var found []health.Outlier
	for i, m := range members {
		if cause := slowCause(cfg, m, report); cause != 0 {
			rate, _ := slowRate(m, 0)
			found = append(found, health.Outlier{Index: i, Cause: cause, Rate: rate})
		}
	}
	slices.SortStableFunc(found, func(a, b health.Outlier) int { return cmp.Compare(a.Rate, b.Rate) })
	members = slices.Clone(members)
	for len(found) > 0 {
		members[found[0].Index].Ejected = true
		if !slowWithin(cfg, members) {
			break
		}
		report.Outliers = append(report.Outliers, found[0])
		found = found[1:]
	}
	report.Spared = len(found)
	return report
}

func slowCause(cfg health.OutlierConfig, m health.OutlierObservation, report health.OutlierReport) health.OutlierCause {
	if m.Ejected || m.Unavailable {
		return 0
	}
	for _, run := range []health.OutlierCause{health.LocalFailuresInRow, health.GatewayFailuresInRow, health.FailuresInRow} {
		if m.Runs&run != 0 && cfg.Off&run == 0 {
			return run
		}
	}
	rate, enough := slowRate(m, cfg.MinimumSamples)
	if !enough || rate >= cfg.SuccessFloor {
		return 0
	}
	successes, failures := new(big.Int).SetUint64(m.Successes), new(big.Int).SetUint64(m.Failures)
	share := new(big.Rat).SetFrac(failures, new(big.Int).Add(successes, failures))
	switch {
	case cfg.Off&health.FailureShare == 0 && share.Cmp(big.NewRat(int64(cfg.FailurePercent), 100)) >= 0:
		return health.FailureShare
	case cfg.Off&health.SuccessRate == 0 && report.Compared && rate < report.Bar:
		return health.SuccessRate
	}
	return 0
}

// slowWithin reports whether the limits hold.
func slowWithin(cfg health.OutlierConfig, members []health.OutlierObservation) bool {
	ejected, serving := 0, 0
	for _, m := range members {
		if m.Ejected {
			ejected++
		} else if !m.Unavailable {
			serving++
		}
	}
	return (ejected <= 1 || 100*ejected <= cfg.MaxEjectedPercent*len(members)) && serving >= cfg.MinimumHealthy
}

// requireReport holds a report against the slow one.
func requireReport(t failer, d *health.OutlierDetector, cfg health.OutlierConfig, members []health.OutlierObservation, into health.OutlierReport) health.OutlierReport {
	t.Helper()
	got, want := d.Detect(members, into), slowDetect(cfg, members)
	if !slices.Equal(got.Outliers, want.Outliers) || got.Spared != want.Spared || got.Considered != want.Considered ||
		got.Compared != want.Compared || got.Mean != want.Mean || got.Deviation != want.Deviation || got.Bar != want.Bar {
		t.Fatalf("of %+v\nthe report is %+v\nand ought to be %+v", members, got, want)
	}
	return got
}

// slowSubject is one life of a member, known by what happened to it.
type slowSubject struct {
	subject     *health.OutlierSubject
	unavailable bool
	stretch     int        // how often it was readmitted
	calls       []slowCall // that count, since it was readmitted
	judged      int        // how many of them were there when rates were last judged
	ejected     bool       //
	settled     bool       // it was not, since rates were last judged
	ejections   int        // not forgotten
	cause       health.OutlierCause
	since       time.Time
	wait        time.Duration
}

type slowCall struct {
	failed bool
	kind   health.FailureKind
}

// runs counts back from the last call.
func (s *slowSubject) runs(cfg health.OutlierConfig) (runs health.OutlierCause) {
	for _, r := range []struct {
		cause  health.OutlierCause
		number int
		counts func(slowCall) bool
	}{
		{health.FailuresInRow, cfg.FailuresInRow, func(c slowCall) bool { return c.failed }},
		{health.GatewayFailuresInRow, cfg.GatewayFailuresInRow, func(c slowCall) bool { return c.failed && c.kind == health.GatewayFailure }},
		{health.LocalFailuresInRow, cfg.LocalFailuresInRow, func(c slowCall) bool { return c.failed && c.kind == health.LocalFailure }},
	} {
		n := 0
		for n < len(s.calls) && r.counts(s.calls[len(s.calls)-1-n]) {
			n++
		}
		if n >= r.number && cfg.Off&r.cause == 0 {
			runs |= r.cause
		}
	}
	return runs
}

// slowController is an OutlierController that works everything out anew.
type slowController struct {
	cfg     health.OutlierControllerConfig // without zero fields
	swept   bool
	judged  time.Time
	members []*slowSubject
}

func (c *slowController) observations(judges bool) (members []health.OutlierObservation) {
	for _, s := range c.members {
		o := health.OutlierObservation{Ejected: s.ejected, Unavailable: s.unavailable}
		if !s.ejected {
			o.Runs = s.runs(c.cfg.Detector)
			for _, call := range s.calls[s.judged:] {
				switch {
				case !judges:
				case call.failed:
					o.Failures++
				default:
					o.Successes++
				}
			}
		}
		members = append(members, o)
	}
	return members
}

func (s *slowSubject) left(now time.Time) time.Duration {
	if now.Before(s.since) {
		s.since = now
	}
	return max(0, s.wait-now.Sub(s.since))
}

func (s *slowSubject) readmit() {
	s.ejected, s.calls, s.judged = false, nil, 0
	s.stretch++
}

// sweep returns what a Sweep should do. How long the ejections last it takes from
// the real one, and holds it against the bounds.
func (c *slowController) sweep(t failer, now time.Time, real []health.OutlierChange) (want health.OutlierSweep) {
	t.Helper()
	if !c.swept || now.Before(c.judged) {
		c.swept, c.judged = true, now
	}
	want.Judged = now.Sub(c.judged) >= c.cfg.Interval
	for i, s := range c.members {
		if s.ejected && s.left(now) == 0 {
			s.readmit()
			want.Changes = append(want.Changes, health.OutlierChange{Index: i, Cause: s.cause})
		}
	}
	for {
		i := c.surplus(now)
		if i < 0 {
			break
		}
		c.members[i].readmit()
		want.Changes = append(want.Changes, health.OutlierChange{Index: i, Cause: c.members[i].cause, Early: true})
	}
	report := slowDetect(c.cfg.Detector, c.observations(want.Judged))
	want.Spared = report.Spared
	for _, o := range report.Outliers {
		s := c.members[o.Index]
		s.ejected, s.settled, s.since, s.cause = true, false, now, o.Cause
		s.ejections++
		whole := min(c.cfg.BaseTime*time.Duration(s.ejections), c.cfg.MaxTime)
		if at := len(want.Changes); at < len(real) {
			s.wait = real[at].For
		}
		if s.wait < whole || s.wait > whole+c.cfg.Jitter {
			t.Fatalf("ejection %d lasts %v, want %v and up to %v more", s.ejections, s.wait, whole, c.cfg.Jitter)
		}
		want.Changes = append(want.Changes, health.OutlierChange{Index: o.Index, Ejected: true, Cause: o.Cause, Rate: o.Rate, For: s.wait})
	}
	if want.Judged {
		c.judged = now
	}
	want.Wait = c.cfg.Interval - now.Sub(c.judged)
	for _, s := range c.members {
		if s.ejected {
			want.Ejected++
			want.Wait = min(want.Wait, s.left(now))
			continue
		}
		if want.Judged {
			if s.settled {
				s.ejections = max(0, s.ejections-1)
			}
			s.settled, s.judged = true, len(s.calls)
		}
	}
	return want
}

// surplus returns whom to readmit next because the limits do not hold, or -1.
func (c *slowController) surplus(now time.Time) int {
	members := c.observations(false)
	ejected, serving := 0, 0
	for _, m := range members {
		if m.Ejected {
			ejected++
		} else if !m.Unavailable {
			serving++
		}
	}
	tooMany := ejected > 1 && 100*ejected > c.cfg.Detector.MaxEjectedPercent*len(members)
	tooFew := serving < c.cfg.Detector.MinimumHealthy
	best := -1
	for i, m := range members {
		if m.Ejected && (tooMany || tooFew && !m.Unavailable) && (best < 0 || c.members[i].left(now) < c.members[best].left(now)) {
			best = i
		}
	}
	return best
}

// openCall is a call that has begun and not ended.
type openCall struct {
	call    health.OutlierCall
	of      *slowSubject
	stretch int // -1: it began while its subject was ejected
}

// controllerRun is a script on an OutlierController and its slow twin.
type controllerRun struct {
	t      failer
	real   *health.OutlierController
	slow   *slowController
	chance *poise.Generator
	now    time.Time
	open   []openCall
	// What happened in all, so that a test can say that a script is worth anything.
	ejections, early, late int
}

func newControllerRun(t failer, cfg health.OutlierControllerConfig, members int, seed uint64) *controllerRun {
	t.Helper()
	c, err := health.NewOutlierController(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r := &controllerRun{t: t, real: c, slow: &slowController{cfg: cfg}, chance: poise.NewGenerator(seed), now: dusk}
	for range members {
		r.join()
	}
	return r
}

func (r *controllerRun) join() {
	if len(r.slow.members) < 12 {
		r.slow.members = append(r.slow.members, &slowSubject{subject: r.real.Subject()})
	}
}

// play plays a script: of each step the low four bits say what, the others with
// which number.
func (r *controllerRun) play(script []uint16) {
	r.t.Helper()
	for _, word := range script {
		number := int(word >> 4)
		members := r.slow.members
		n := max(len(members), 1)
		switch op := word & 15; {
		case op == 10:
			r.now = r.now.Add(time.Duration(number) * r.slow.cfg.Interval / 256)
		case op == 11:
			r.now = r.now.Add(-time.Duration(number*number) * r.slow.cfg.Interval / 4096)
		case op >= 12:
			r.sweep()
		case len(members) == 0:
			r.join()
		case op <= 4: // calls that begin and end
			for range 1 + number/64 {
				r.begin(members[number%n])
				r.end(len(r.open)-1, number/8)
			}
		case op == 5:
			r.begin(members[number%n])
		case op == 6 && len(r.open) > 0:
			r.end(number%len(r.open), number/8)
		case op == 7:
			members[number%n].unavailable = !members[number%n].unavailable
		case op == 8:
			r.join()
		case op == 9 && number%2 == 0:
			r.slow.members = slices.Delete(members, number/2%n, number/2%n+1)
		case op == 9: // a new life in the same place
			members[number/2%n] = &slowSubject{subject: r.real.Subject()}
		}
		for i, s := range r.slow.members {
			if got := s.subject.Excluded() == poise.ExcludedOutlier; got != s.ejected {
				r.t.Fatalf("member %d: excluded is %t, want %t", i, got, s.ejected)
			}
		}
	}
}

func (r *controllerRun) begin(s *slowSubject) {
	stretch := s.stretch
	if s.ejected {
		stretch = -1
	}
	r.open = append(r.open, openCall{s.subject.Begin(), s, stretch})
}

func (r *controllerRun) end(i, number int) {
	r.t.Helper()
	open := r.open[i]
	r.open = slices.Delete(r.open, i, i+1)
	outcome := []poise.Outcome{poise.Success, poise.Failure, poise.Failure, poise.Overloaded, poise.Failure, poise.Failure, poise.Cancelled, poise.Failure}[number%8]
	kind := health.FailureKind(number / 8 % 4) // the last of which is unknown
	got := open.call.Record(outcome, kind)
	counts := outcome != poise.Cancelled && !open.of.ejected && open.stretch == open.of.stretch
	want := false
	if counts {
		before := open.of.runs(r.slow.cfg.Detector)
		open.of.calls = append(open.of.calls, slowCall{outcome.IsFailure(), kind})
		want = open.of.runs(r.slow.cfg.Detector)&^before != 0
	} else {
		r.late++
	}
	// What a call of an earlier stretch says is of that stretch, and at worst one
	// Sweep too many is made.
	if counts && got != want {
		r.t.Fatalf("Record of %v asks for a sweep: %t, want %t", outcome, got, want)
	}
}

func (r *controllerRun) sweep() {
	r.t.Helper()
	var members []health.OutlierMember
	for _, s := range r.slow.members {
		members = append(members, health.OutlierMember{Subject: s.subject, Unavailable: s.unavailable})
	}
	got, err := r.real.Sweep(r.now, members, r.chance)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	want := r.slow.sweep(r.t, r.now, got.Changes)
	if !slices.Equal(got.Changes, want.Changes) || got.Ejected != want.Ejected || got.Spared != want.Spared || got.Judged != want.Judged || got.Wait != want.Wait {
		r.t.Fatalf("the sweep is %+v\nand ought to be %+v", got, want)
	}
	r.require()
	for _, change := range got.Changes {
		switch {
		case change.Ejected:
			r.ejections++
		case change.Early:
			r.early++
		}
	}
}

// require holds the limits against who is excluded, by the words of the Contract.
func (r *controllerRun) require() {
	r.t.Helper()
	cfg := r.slow.cfg.Detector
	ejected, serving, held := 0, 0, 0
	for _, s := range r.slow.members {
		switch out := s.subject.Excluded() != poise.NotExcluded; {
		case out && !s.unavailable:
			ejected++
			held++
		case out:
			ejected++
		case !s.unavailable:
			serving++
		}
	}
	if ejected > 1 && 100*ejected > cfg.MaxEjectedPercent*len(r.slow.members) {
		r.t.Fatalf("%d of %d are ejected", ejected, len(r.slow.members))
	}
	if held > 0 && serving < cfg.MinimumHealthy {
		r.t.Fatalf("%d serve and %d could", serving, held)
	}
}
