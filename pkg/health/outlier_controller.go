// Explorable.

package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// OutlierControllerConfig are the settings of an OutlierController. The zero value
// of each field is its default.
type OutlierControllerConfig struct {
	_ struct{}
	// Detector are the settings of the detection.
	Detector OutlierConfig
	// Interval is the time over which success rates are taken. Positive, default
	// 10 s.
	Interval time.Duration
	// BaseTime is how long a first ejection lasts, before jitter. Positive, default
	// 30 s.
	BaseTime time.Duration
	// MaxTime is the longest ejection, before jitter; at least BaseTime, default
	// 300 s or BaseTime, whichever is longer.
	MaxTime time.Duration
	// Jitter is the most that chance adds to an ejection, so that those who were
	// ejected together do not come back together. Not negative, default a tenth of
	// BaseTime; 1 ns is as good as none.
	Jitter time.Duration
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c OutlierControllerConfig) withDefaults() (OutlierControllerConfig, error) {
	c.Interval = cmp.Or(c.Interval, 10*time.Second)
	c.BaseTime = cmp.Or(c.BaseTime, 30*time.Second)
	c.MaxTime = cmp.Or(c.MaxTime, max(300*time.Second, c.BaseTime))
	c.Jitter = cmp.Or(c.Jitter, c.BaseTime/10)
	switch {
	case c.Interval < 0:
		return c, outOfRange("Interval", c.Interval)
	case c.BaseTime < 0:
		return c, outOfRange("BaseTime", c.BaseTime)
	case c.MaxTime < c.BaseTime:
		return c, outOfRange("MaxTime", c.MaxTime)
	case c.Jitter < 0 || c.MaxTime+c.Jitter < 0:
		return c, outOfRange("Jitter", c.Jitter)
	}
	return c, nil
}

// OutlierController ejects the outliers of a group for a time that grows, and
// readmits them. It is told of calls through the OutlierSubject of each member, and
// acts when it is swept.
//
// Sweep is called when the last one said so, at once after a Record that returned
// true, and with each change of who the members are. A member that drains is left
// out or said to be unavailable.
//
// An OutlierController is made by NewOutlierController.
//
// # Contract
//
//   - A Sweep ejects the outliers that its detector names, who then are excluded until a Sweep readmits them.
//   - Runs of failures are judged at every Sweep, rates once in each Interval and over what was counted in it.
//   - No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
//   - No Sweep leaves a member ejected who could serve otherwise while fewer than MinimumHealthy members serve.
//   - Where fewer may be ejected than are, those whose time is over soonest are readmitted.
//   - An ejection lasts BaseTime for each ejection not forgotten, up to MaxTime, and at most Jitter more.
//   - One ejection is forgotten for each judgement of the rates since the last of which the member was not ejected.
//   - The first Sweep after the time of an ejection readmits, and no Sweep before, but to keep the limits.
//   - A clock that steps back costs at most one more ejection time and one more Interval.
//
// # Cost
//
// Sweep is O(n), and O(k log k) in the number of outliers and of those ejected. It
// allocates for what it changes, and while the group is larger than ever before.
//
// # Concurrency
//
// Sweep is one critical section; calls are counted meanwhile, and count in this
// Interval or the next. Whoever is ejected or readmitted is so from one moment on,
// one after the other, so that in between not all of a Sweep is to be seen.
type OutlierController struct {
	cfg      OutlierControllerConfig
	detector *OutlierDetector

	mu syncx.Mutex
	// Guarded by mu.
	round  uint64 // Sweeps so far, refused ones included
	swept  bool   // there was a Sweep
	judged time.Time
	// What Sweep works with, kept from one to the next.
	members []OutlierObservation
	report  OutlierReport
	ejected []int
}

// OutlierMember is one member of the group that is swept.
type OutlierMember struct {
	_ struct{}
	// Subject is the member's. Required.
	Subject *OutlierSubject
	// Unavailable: the member cannot serve for another reason, such as its probes.
	Unavailable bool
}

// OutlierChange is one ejection or readmission.
type OutlierChange struct {
	_ struct{}
	// Index is the member's place in the list.
	Index int
	// Ejected: it was ejected; else it was readmitted.
	Ejected bool
	// Cause is that of the ejection, also on readmission.
	Cause OutlierCause
	// Rate is the success rate at the ejection, 0 where rates were not judged.
	Rate float64
	// Early: it was readmitted before its time, to keep the limits.
	Early bool
	// For is how long it is ejected.
	For time.Duration
}

// OutlierSweep is what a Sweep did and left.
type OutlierSweep struct {
	_ struct{}
	// Changes are the readmissions and then the ejections.
	Changes []OutlierChange
	// Ejected is how many of the members are ejected.
	Ejected int
	// Spared is how many are outliers that the limits do not let go.
	Spared int
	// Judged says that rates were judged.
	Judged bool
	// Wait is the time until the next Sweep is due. It is positive.
	Wait time.Duration
}

// NewOutlierController returns an OutlierController, or a [poise.FieldError] of
// ErrOutOfRange.
func NewOutlierController(cfg OutlierControllerConfig) (*OutlierController, error) {
	detector, err := NewOutlierDetector(cfg.Detector)
	if err != nil {
		return nil, inField("Detector", err)
	}
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &OutlierController{cfg: cfg, detector: detector}, nil
}

// Subject returns the subject of a member that has just joined.
func (c *OutlierController) Subject() *OutlierSubject {
	s := &OutlierSubject{of: c}
	s.current.Store(&period{of: c})
	return s
}

// Sweep readmits the members whose time is over and ejects the outliers, at the
// instant now. The members are all of the group. The chance draws the jitter; nil
// draws from the runtime.
//
// # Contract
//
//   - A Sweep that is refused changes nothing.
//   - A Sweep leaves whoever is not among its members as they are.
func (c *OutlierController) Sweep(now time.Time, members []OutlierMember, chance *poise.Generator) (OutlierSweep, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.check(members); err != nil {
		return OutlierSweep{}, err
	}
	sweep := OutlierSweep{Judged: c.due(now)}
	c.readmit(now, members, &sweep)
	c.reduce(now, members, &sweep)
	c.observe(members, sweep.Judged)
	c.report = c.detector.Detect(c.members, c.report)
	sweep.Spared = c.report.Spared
	for _, o := range c.report.Outliers {
		c.eject(members[o.Index].Subject, o, now, chance, &sweep)
	}
	if sweep.Judged {
		c.settle(members, now)
	}
	c.sum(members, now, &sweep)
	return sweep, nil
}

// check refuses a list with a subject that is missing, another controller's or
// there twice. Requires mu.
func (c *OutlierController) check(members []OutlierMember) error {
	c.round++
	for i := range members {
		var err error
		switch s := members[i].Subject; {
		case s == nil:
			err = ErrMissing
		case s.of != c:
			err = ErrForeign
		case s.round == c.round:
			err = ErrDuplicate
		default:
			s.round = c.round
			continue
		}
		return &poise.FieldError{Field: fmt.Sprintf("members[%d].Subject", i), Value: i, Err: err}
	}
	return nil
}

// due reports whether an Interval is over. Requires mu.
func (c *OutlierController) due(now time.Time) bool {
	if !c.swept || now.Before(c.judged) {
		// The first interval begins, or the clock stepped back, and waiting for the
		// old instant could take for ever.
		c.swept, c.judged = true, now
	}
	return now.Sub(c.judged) >= c.cfg.Interval
}

// readmit readmits those whose time is over. Requires mu.
func (c *OutlierController) readmit(now time.Time, members []OutlierMember, sweep *OutlierSweep) {
	for i := range members {
		if s := members[i].Subject; s.out && s.left(now) == 0 {
			c.bringBack(s, i, false, sweep)
		}
	}
}

// left returns how much of its time the ejected subject has left. Requires mu.
func (s *OutlierSubject) left(now time.Time) time.Duration {
	if now.Before(s.since) {
		s.since = now // as in due
	}
	return max(s.wait-now.Sub(s.since), 0)
}

// bringBack readmits one subject. Requires mu.
func (c *OutlierController) bringBack(s *OutlierSubject, index int, early bool, sweep *OutlierSweep) {
	s.out, s.judged = false, callCounts{}
	s.current.Store(&period{of: c})
	sweep.Changes = append(sweep.Changes, OutlierChange{Index: index, Cause: s.cause, Early: early})
}

// reduce readmits those who are ejected beyond the limits, because there are fewer
// members than there were, or fewer that serve. Requires mu.
func (c *OutlierController) reduce(now time.Time, members []OutlierMember, sweep *OutlierSweep) {
	serving := 0
	c.ejected = c.ejected[:0]
	for i := range members {
		if members[i].Subject.out {
			c.ejected = append(c.ejected, i)
		} else if !members[i].Unavailable {
			serving++
		}
	}
	surplus := len(c.ejected) - c.detector.cfg.most(len(members))
	missing := c.detector.cfg.MinimumHealthy - serving
	if len(c.ejected) == 0 || surplus <= 0 && missing <= 0 {
		return
	}
	slices.SortFunc(c.ejected, func(a, b int) int {
		return cmp.Or(cmp.Compare(members[a].Subject.left(now), members[b].Subject.left(now)), cmp.Compare(a, b))
	})
	for _, i := range c.ejected {
		if surplus <= 0 && (missing <= 0 || members[i].Unavailable) {
			continue
		}
		surplus--
		if !members[i].Unavailable {
			missing--
		}
		c.bringBack(members[i].Subject, i, true, sweep)
	}
}

// observe fills c.members. Without judged they have no samples, and so no rates.
// Requires mu.
func (c *OutlierController) observe(members []OutlierMember, judged bool) {
	c.members = slices.Grow(c.members[:0], len(members))[:len(members)]
	for i := range members {
		s := members[i].Subject
		o := OutlierObservation{Unavailable: members[i].Unavailable}
		if s.out {
			o.Ejected = true
		} else {
			now := s.current.Load()
			o.Runs = c.long(now.runs.Load())
			if judged {
				count := callCounts{now.successes.Load(), now.failures.Load()}
				o.Successes = count.successes - s.judged.successes
				o.Failures = count.failures - s.judged.failures
				s.judged = count
			}
		}
		c.members[i] = o
	}
}

// eject ejects one subject. Requires mu.
func (c *OutlierController) eject(s *OutlierSubject, o Outlier, now time.Time, chance *poise.Generator, sweep *OutlierSweep) {
	s.ejections = min(s.ejections+1, longestRun)
	s.out, s.settled = true, false
	s.since, s.cause = now, o.Cause
	s.wait = c.cfg.MaxTime
	if n := time.Duration(s.ejections); c.cfg.BaseTime <= c.cfg.MaxTime/n {
		s.wait = c.cfg.BaseTime * n
	}
	s.wait += time.Duration(chance.Below(uint64(c.cfg.Jitter) + 1))
	s.current.Store(nil)
	sweep.Changes = append(sweep.Changes, OutlierChange{Index: o.Index, Ejected: true, Cause: o.Cause, Rate: o.Rate, For: s.wait})
}

// settle ends an Interval: whoever was not ejected in all of it has one ejection
// forgotten. Requires mu.
func (c *OutlierController) settle(members []OutlierMember, now time.Time) {
	c.judged = now
	for i := range members {
		s := members[i].Subject
		if s.out {
			continue
		}
		if s.settled {
			s.ejections = max(s.ejections-1, 0)
		}
		s.settled = true
	}
}

// sum fills in what the sweep leaves. Requires mu.
func (c *OutlierController) sum(members []OutlierMember, now time.Time, sweep *OutlierSweep) {
	sweep.Wait = c.cfg.Interval - now.Sub(c.judged)
	for i := range members {
		if s := members[i].Subject; s.out {
			sweep.Ejected++
			sweep.Wait = min(sweep.Wait, s.left(now))
		}
	}
}

// inField puts the name of a field before that of a field of it.
func inField(field string, err error) error {
	var refused *poise.FieldError
	if errors.As(err, &refused) {
		return &poise.FieldError{Field: field + "." + refused.Field, Value: refused.Value, Err: refused.Err}
	}
	return err
}
