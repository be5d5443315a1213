package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Errors of a scenario text. They arrive inside a ParseError.
var (
	// ErrUnknownWord means a word that the form does not have there.
	ErrUnknownWord = errors.New("unknown word")
	// ErrMissing means a line or a value that has to be there.
	ErrMissing = errors.New("missing")
	// ErrNotANumber means something else where a number, a part, a rate or a time is due.
	ErrNotANumber = errors.New("not a value of this kind")
	// ErrOutOfRange means a number outside of what is possible.
	ErrOutOfRange = errors.New("out of range")
	// ErrTwice means a line that may occur once.
	ErrTwice = errors.New("said twice")
)

// ParseError names the line and the field that were refused.
type ParseError struct {
	// Name is the name given to Parse.
	Name string
	// Line is counted from 1.
	Line int
	// Field is the word of the form, such as "servers.cost".
	Field string
	// Value is what was found there.
	Value string
	// Err is the cause.
	Err error
}

// Error returns the place, the field, the value and the cause.
func (e *ParseError) Error() string {
	return fmt.Sprintf("sim: %s:%d: %s is %q: %v", e.Name, e.Line, e.Field, e.Value, e.Err)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads a text of scenarios. A text without cases is one Scenario; else there
// is one for each case.
//
// A line is a word and what belongs to it; # begins a comment. Servers are counted
// from 0 and chosen by "all", "first 3", "last 2", "server 4" or "servers 2-4". A
// part is "5%" or "0.05", a rate "100/s", a time "1.5s".
//
//	title     what happens, in a sentence
//	cases     n k: 3 1 | 5 2              then $n and $k stand for these values; "_" in
//	                                      a value is a space; of several such lines
//	                                      every combination is a case
//	policies  round-robin two-choices ring-hash …
//	seeds     200
//	length    10s
//	clients   1
//	servers   $n cost 5ms concurrency 100 queue 0 delay 1ms weight 1 priority 0
//	          limit 0 serve-abandoned absent      (on one line; several add up)
//	calls     100/s gaps exponential costs exponential posts 50% marked 1% status 500
//	          keys 1000 deadline 1s attempt-timeout 300ms body 0s       (on one line)
//	at 2s     first $k refuse | hang | reset | status 503 | well
//	          and after 1ms, probability 50%, retry-after 1s
//	at 2s     first $k slow 10 | concurrency 5 | delay 50ms | warm 5 for 2s
//	at 2s     first $k restart 700ms       each after the other: … every 1s
//	at 2s     first $k join | leave | drain | limit 5 | weight 2
//	at 2s     rate 200/s | pause 3s | clock -1h
//	must      failed get <= 0.1% after 4s before 8s for two-choices
//
// Metrics, the words after must, are those of Metric: "failed get", "failed post",
// "failed", "goodput", "share first 2", "notice first 2" and so on. A bound is a
// number, a part or a time, "97% of rotation", "100% of rotation + 0.1%" or "100% of
// bare or oracle", of which the one counts that allows more. A window is given by instants, which may go on by calls: "after 2s,0s+100calls" is
// after two seconds and after the hundredth call, whichever is later.
func Parse(name, text string) ([]*Scenario, error) {
	return parseLines(name, name, strings.Split(text, "\n"))
}

// parseLines reads the lines once for each case of the first line of cases.
func parseLines(file, name string, lines []string) ([]*Scenario, error) {
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "cases ")
	})
	if at < 0 {
		s, err := parseOne(file, name, lines)
		if err != nil {
			return nil, err
		}
		return []*Scenario{s}, nil
	}
	head, body, found := strings.Cut(strings.TrimSpace(lines[at]), ":")
	names := strings.Fields(head)[1:]
	if !found || len(names) == 0 {
		return nil, &ParseError{file, at + 1, "cases", lines[at], ErrMissing}
	}
	var all []*Scenario
	for one := range strings.SplitSeq(body, "|") {
		values := strings.Fields(one)
		if len(values) != len(names) {
			return nil, &ParseError{file, at + 1, "cases", one, ErrMissing}
		}
		replaced := slices.Clone(lines)
		replaced[at] = ""
		for i := range replaced {
			replaced[i] = fill(replaced[i], names, values)
		}
		some, err := parseLines(file, caseName(name, names, values), replaced)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// caseName adds a case to the name of a scenario.
func caseName(name string, names, values []string) string {
	separator := "/"
	for i := range names {
		if strings.Contains(name, "/") {
			separator = ","
		}
		name += separator + names[i] + "=" + values[i]
	}
	return name
}

// fill puts the values in the places of the names. An underscore in a value is a
// space. Of two names the longer one is meant.
func fill(line string, names, values []string) string {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(names[b]) - len(names[a]) })
	for _, i := range order {
		line = strings.ReplaceAll(line, "$"+names[i], strings.ReplaceAll(values[i], "_", " "))
	}
	return line
}

// parser reads the words of one line after the other.
type parser struct {
	file  string
	line  int
	words []string
	field string
	seen  map[string]bool
	s     *Scenario
}

func parseOne(file, name string, lines []string) (*Scenario, error) {
	p := &parser{file: file, seen: map[string]bool{}, s: &Scenario{
		Name: name, Policies: []string{"round-robin", "two-choices", "ring-hash"}, Seeds: 200, Clients: 1,
	}}
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		p.line, p.words = i+1, strings.Fields(line)
		if len(p.words) == 0 {
			continue
		}
		if err := p.parseLine(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	for _, word := range []string{"title", "length", "servers", "calls"} {
		if !p.seen[word] {
			return nil, &ParseError{file, len(lines), word, "", ErrMissing}
		}
	}
	sortEvents(p.s)
	return p.s, nil
}

func sortEvents(s *Scenario) {
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// ParseMust reads what must hold, the line without the word must, of a scenario with
// so many servers.
func ParseMust(text string, servers int) (Must, error) {
	p := &parser{file: "must", line: 1, words: strings.Fields(text), s: &Scenario{Servers: make([]Server, servers)}}
	if err := p.must(text); err != nil {
		return Must{}, err
	}
	return p.s.Musts[0], nil
}

func (p *parser) fail(value string, err error) error {
	return &ParseError{p.file, p.line, p.field, value, err}
}

// next takes the next word.
func (p *parser) next() (string, bool) {
	if len(p.words) == 0 {
		return "", false
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word, true
}

// take takes the next word if it is this one.
func (p *parser) take(word string) bool {
	if len(p.words) > 0 && p.words[0] == word {
		p.words = p.words[1:]
		return true
	}
	return false
}

func (p *parser) parseLine(line string) error {
	word, _ := p.next()
	p.field = word
	if word != "servers" && word != "at" && word != "must" && p.seen[word] {
		return p.fail(line, ErrTwice)
	}
	p.seen[word] = true
	var err error
	switch word {
	case "title":
		p.s.Title = strings.TrimSpace(strings.TrimPrefix(line, "title"))
		return nil
	case "policies":
		p.s.Policies = nil
		for _, name := range p.words {
			if !slices.Contains(PolicyNames(), name) {
				return p.fail(name, ErrUnknownWord)
			}
			p.s.Policies = append(p.s.Policies, name)
		}
		return nil
	case "seeds":
		p.s.Seeds, err = p.whole(1, 1_000_000)
	case "length":
		p.s.Length, err = p.span()
	case "clients":
		p.s.Clients, err = p.whole(1, 100)
	case "servers":
		err = p.servers()
	case "calls":
		err = p.calls()
	case "at":
		err = p.event()
	case "must":
		err = p.must(strings.TrimSpace(strings.TrimPrefix(line, "must")))
	default:
		return p.fail(line, ErrUnknownWord)
	}
	if err == nil && len(p.words) > 0 {
		return p.fail(strings.Join(p.words, " "), ErrUnknownWord)
	}
	return err
}

// whole reads a whole number within bounds.
func (p *parser) whole(least, most int) (int, error) {
	word, _ := p.next()
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return 0, p.fail(word, ErrNotANumber)
	case n < least || n > most:
		return 0, p.fail(word, ErrOutOfRange)
	}
	return n, nil
}

// span reads a time that is not negative.
func (p *parser) span() (time.Duration, error) {
	word, _ := p.next()
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return 0, p.fail(word, ErrNotANumber)
	case d < 0 || d > 100*time.Hour:
		return 0, p.fail(word, ErrOutOfRange)
	}
	return d, nil
}

// part reads a part of a whole.
func (p *parser) part() (float64, error) {
	word, _ := p.next()
	f, err := number(word)
	switch {
	case err != nil:
		return 0, p.fail(word, ErrNotANumber)
	case !(f >= 0 && f <= 1):
		return 0, p.fail(word, ErrOutOfRange)
	}
	return f, nil
}

// number reads a number, or a percentage.
func number(word string) (float64, error) {
	text, percent := strings.CutSuffix(word, "%")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, ErrNotANumber
	}
	if percent {
		f /= 100
	}
	return f, nil
}

// rate reads calls per second.
func (p *parser) rate() (float64, error) {
	word, _ := p.next()
	text, found := strings.CutSuffix(word, "/s")
	f, err := number(text)
	switch {
	case !found || err != nil:
		return 0, p.fail(word, ErrNotANumber)
	case f < 0 || f > 1e6:
		return 0, p.fail(word, ErrOutOfRange)
	}
	return f, nil
}

// factor reads a number that is not negative.
func (p *parser) factor() (float64, error) {
	word, _ := p.next()
	f, err := number(word)
	switch {
	case err != nil:
		return 0, p.fail(word, ErrNotANumber)
	case f < 0 || f > 1e9:
		return 0, p.fail(word, ErrOutOfRange)
	}
	return f, nil
}

func (p *parser) shape() (Shape, error) {
	word, _ := p.next()
	i := slices.Index(shapeNames[:], word)
	if i < 0 {
		return 0, p.fail(word, ErrUnknownWord)
	}
	return Shape(i), nil
}

func (p *parser) servers() error {
	n, err := p.whole(0, 1000)
	if err != nil {
		return err
	}
	one := Server{Cost: 5 * time.Millisecond, Delay: 500 * time.Microsecond}
	for err == nil {
		word, more := p.next()
		if !more {
			break
		}
		p.field = "servers." + word
		var value int
		switch word {
		case "cost":
			one.Cost, err = p.span()
		case "concurrency":
			one.Concurrency, err = p.whole(0, 1_000_000)
		case "queue":
			one.Queue, err = p.whole(0, 1_000_000)
		case "delay":
			one.Delay, err = p.span()
		case "weight":
			value, err = p.whole(1, 1_000_000)
			one.Weight = uint32(value)
		case "priority":
			value, err = p.whole(0, 100)
			one.Priority = uint32(value)
		case "limit":
			value, err = p.whole(0, 1_000_000)
			one.Limit = uint64(value)
		case "serve-abandoned":
			one.ServeAbandoned = true
		case "absent":
			one.Absent = true
		default:
			return p.fail(word, ErrUnknownWord)
		}
	}
	for range n {
		p.s.Servers = append(p.s.Servers, one)
	}
	return err
}

func (p *parser) calls() error {
	c := &p.s.Calls
	c.Gaps, c.Costs, c.MarkedStatus = Exponential, Exponential, 500
	var err error
	if c.Rate, err = p.rate(); err != nil {
		return err
	}
	for err == nil {
		word, more := p.next()
		if !more {
			break
		}
		p.field = "calls." + word
		switch word {
		case "gaps":
			c.Gaps, err = p.shape()
		case "costs":
			c.Costs, err = p.shape()
		case "posts":
			c.Posts, err = p.part()
		case "marked":
			c.Marked, err = p.part()
		case "status":
			c.MarkedStatus, err = p.whole(400, 599)
		case "keys":
			c.Keys, err = p.whole(0, math.MaxInt32)
		case "deadline":
			c.Deadline, err = p.span()
		case "attempt-timeout":
			c.AttemptTimeout, err = p.span()
		case "body":
			c.Body, err = p.span()
		default:
			return p.fail(word, ErrUnknownWord)
		}
	}
	return err
}

// chosen reads which servers are meant; found is false if no servers are named.
func (p *parser) chosen() (chosen []int, all, found bool, err error) {
	if len(p.words) == 0 {
		return nil, false, false, nil
	}
	n := len(p.s.Servers)
	from, to := 0, 0
	switch word := p.words[0]; word {
	case "all":
		p.next()
		to, all = n, true
	case "first", "last", "server":
		p.next()
		i, err := p.whole(0, n)
		if err != nil {
			return nil, false, true, err
		}
		switch {
		case word == "first":
			to = i
		case word == "last":
			from, to = n-i, n
		case i == n:
			return nil, false, true, p.fail(strconv.Itoa(i), ErrOutOfRange)
		default:
			from, to = i, i+1
		}
	case "servers":
		p.next()
		text, _ := p.next()
		low, high, _ := strings.Cut(text, "-")
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil {
			return nil, false, true, p.fail(text, ErrNotANumber)
		}
		if a < 0 || b < a || b >= n {
			return nil, false, true, p.fail(text, ErrOutOfRange)
		}
		from, to = a, b+1
	default:
		return nil, false, false, nil
	}
	chosen = []int{}
	for i := from; i < to; i++ {
		chosen = append(chosen, i)
	}
	return chosen, all, true, nil
}

func (p *parser) event() error {
	var e Event
	var err error
	if e.At, err = p.span(); err != nil {
		return err
	}
	var found bool
	if e.Servers, e.All, found, err = p.chosen(); err != nil {
		return err
	}
	word, _ := p.next()
	p.field = "at." + word
	if !found {
		return p.clientEvent(e, word)
	}
	switch word {
	case "well", "refuse", "hang", "reset", "status":
		return p.fault(e, word)
	case "slow":
		e.Verb = SetSlow
		e.Number, err = p.factor()
	case "concurrency":
		e.Verb = SetConcurrency
		e.Number, err = p.factor()
	case "delay":
		e.Verb = SetDelay
		e.Duration, err = p.span()
	case "warm":
		e.Verb = SetWarm
		if e.Number, err = p.factor(); err == nil && p.take("for") {
			e.Duration, err = p.span()
		}
	case "restart":
		return p.restart(e)
	case "join":
		e.Verb = Join
	case "leave":
		e.Verb = Leave
	case "drain":
		e.Verb = Drain
	case "limit":
		e.Verb = SetLimit
		e.Number, err = p.factor()
	case "weight":
		e.Verb = SetWeight
		e.Number, err = p.factor()
	default:
		return p.fail(word, ErrUnknownWord)
	}
	p.s.Events = append(p.s.Events, e)
	return err
}

func (p *parser) clientEvent(e Event, word string) (err error) {
	switch word {
	case "rate":
		e.Verb = SetRate
		e.Number, err = p.rate()
	case "pause":
		e.Verb = Pause
		e.Duration, err = p.span()
	case "clock":
		e.Verb = StepClock
		text, _ := p.next()
		if e.Duration, err = time.ParseDuration(text); err != nil {
			return p.fail(text, ErrNotANumber)
		}
	default:
		return p.fail(word, ErrUnknownWord)
	}
	p.s.Events = append(p.s.Events, e)
	return err
}

func (p *parser) fault(e Event, word string) error {
	e.Fault.Kind = FaultKind(slices.Index(faultNames[:], word))
	var err error
	if e.Fault.Kind == Answer {
		if e.Fault.Status, err = p.whole(400, 599); err != nil {
			return err
		}
		e.Fault.After = time.Millisecond
	}
	for err == nil {
		word, more := p.next()
		if !more {
			break
		}
		p.field = "at." + word
		switch word {
		case "after":
			e.Fault.After, err = p.span()
		case "probability":
			e.Fault.Probability, err = p.part()
		case "retry-after":
			e.Fault.RetryAfter, err = p.span()
		default:
			return p.fail(word, ErrUnknownWord)
		}
	}
	p.s.Events = append(p.s.Events, e)
	return err
}

// restart reads "restart 700ms" and "restart 700ms every 1s".
func (p *parser) restart(e Event) (err error) {
	e.Verb = Restart
	if e.Duration, err = p.span(); err != nil {
		return err
	}
	if !p.take("every") {
		p.s.Events = append(p.s.Events, e)
		return nil
	}
	apart, err := p.span()
	for i, server := range e.Servers {
		one := e
		one.At += time.Duration(i) * apart
		one.Servers, one.All = []int{server}, false
		p.s.Events = append(p.s.Events, one)
	}
	return err
}

func (p *parser) must(text string) error {
	m := Must{Line: p.line, Text: text}
	word, _ := p.next()
	p.field = "must." + word
	i := slices.Index(metricNames[:], word)
	if i < 0 {
		return p.fail(word, ErrUnknownWord)
	}
	m.Metric = Metric(i)
	for class := Get; class <= Marked; class++ {
		if p.take(classNames[class]) {
			m.Class = class
		}
	}
	var err error
	if m.Servers, _, _, err = p.chosen(); err != nil {
		return err
	}
	switch sign, _ := p.next(); sign {
	case "<=":
		m.AtMost = true
	case ">=":
	default:
		return p.fail(sign, ErrUnknownWord)
	}
	if err := p.bound(&m); err != nil {
		return err
	}
	for {
		word, more := p.next()
		if !more {
			break
		}
		p.field = "must." + word
		switch word {
		case "after":
			m.From, err = p.marks()
		case "before":
			m.To, err = p.marks()
		case "for":
			m.Policies, p.words = p.words, nil
			for _, name := range m.Policies {
				if !slices.Contains(PolicyNames(), name) {
					return p.fail(name, ErrUnknownWord)
				}
			}
		default:
			return p.fail(word, ErrUnknownWord)
		}
		if err != nil {
			return err
		}
	}
	p.s.Musts = append(p.s.Musts, m)
	return nil
}

// bound reads "0.1%", "2s", "97% of rotation" or "100% of bare or oracle + 0.1%".
func (p *parser) bound(m *Must) error {
	value := func() (float64, error) {
		word, _ := p.next()
		if d, err := time.ParseDuration(word); err == nil {
			return d.Seconds(), nil
		}
		f, err := number(word)
		if err != nil {
			return 0, p.fail(word, err)
		}
		return f, nil
	}
	var err error
	if m.Number, err = value(); err != nil || !p.take("of") {
		return err
	}
	m.Factor, m.Number = m.Number, 0
	for _, of := range []*string{&m.Of, &m.Or} {
		*of, _ = p.next()
		if !slices.Contains(SubjectNames(), *of) {
			return p.fail(*of, ErrUnknownWord)
		}
		if !p.take("or") {
			break
		}
	}
	if p.take("+") {
		m.Number, err = value()
	}
	return err
}

// marks reads "2s", "2s+100calls", or several with commas between.
func (p *parser) marks() ([]Mark, error) {
	text, _ := p.next()
	var marks []Mark
	for one := range strings.SplitSeq(text, ",") {
		at, calls, found := strings.Cut(one, "+")
		var m Mark
		var err error
		if m.At, err = time.ParseDuration(at); err != nil || m.At < 0 {
			return nil, p.fail(one, ErrNotANumber)
		}
		if found {
			digits, isCalls := strings.CutSuffix(calls, "calls")
			if m.Calls, err = strconv.Atoi(digits); err != nil || !isCalls || m.Calls < 0 {
				return nil, p.fail(one, ErrNotANumber)
			}
		}
		marks = append(marks, m)
	}
	return marks, nil
}
