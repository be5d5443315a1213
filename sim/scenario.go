package sim

import (
	"time"
)

// Scenario is one world and what must hold in it. Parse makes it from text and
// String writes it as text again.
type Scenario struct {
	// Name is the name of the file and, where the file has cases, the case.
	Name string
	// Title says in one sentence what happens.
	Title string
	// Policies are the policies that the loop runs with, by name.
	Policies []string
	// Seeds is how many runs are pooled.
	Seeds int
	// Length is how long calls arrive. A run ends when the last call has ended.
	Length time.Duration
	// Clients is how many loops share the servers. Each call belongs to one.
	Clients int
	// Servers are the servers in order.
	Servers []Server
	// Calls says how calls arrive and what they are.
	Calls Calls
	// Events are what happens, in the order of time.
	Events []Event
	// Musts are what must hold.
	Musts []Must
}

// Server is one server as the run begins.
type Server struct {
	// Cost is the mean time a call takes.
	Cost time.Duration
	// Concurrency is how many calls it works on at once; 0 is any number.
	Concurrency int
	// Queue is how many calls wait beyond those. The next is answered 503.
	Queue int
	// ServeAbandoned works on calls whose caller has left before their turn.
	ServeAbandoned bool
	// Delay is the time for a request to arrive and its answer to return.
	Delay time.Duration
	// Weight, Priority and Limit are what discovery says of it.
	Weight   uint32
	Priority uint32
	Limit    uint64
	// Absent servers join by an event.
	Absent bool
}

// Shape is a distribution with mean one.
type Shape uint8

// The shapes of costs and of the times between arrivals.
const (
	Constant Shape = iota
	Exponential
	Uniform // between a half and one and a half
	Pareto  // of index 2: a few calls cost very much
)

var shapeNames = [...]string{"constant", "exponential", "uniform", "pareto"}

// String returns the name of the shape.
func (s Shape) String() string { return shapeNames[s] }

// Calls says how calls arrive and what they are.
type Calls struct {
	// Rate is how many arrive in a second, until an event changes it.
	Rate float64
	// Gaps is the shape of the times between arrivals.
	Gaps Shape
	// Costs is the shape of what calls cost.
	Costs Shape
	// Posts is the part that may not be sent again once something was sent.
	Posts float64
	// Marked is the part that every server answers with MarkedStatus: calls of one
	// bad URL, or of a caller who asks for what cannot be. They share one key.
	Marked       float64
	MarkedStatus int
	// Keys is how many different keys there are; 0 is a new key for each call.
	Keys int
	// Deadline is how long a caller waits for the whole call; 0 is for ever.
	Deadline time.Duration
	// AttemptTimeout is how long an attempt may be silent; 0 is for ever.
	AttemptTimeout time.Duration
	// Body is how long the body of a sound answer takes after its header.
	Body time.Duration
}

// FaultKind is how a server fails.
type FaultKind uint8

// The kinds of faults.
const (
	Well   FaultKind = iota
	Refuse           // no connection: nothing is sent
	Hang             // the request is taken and nothing is answered
	Reset            // the request is taken and the connection breaks
	Answer           // the request is answered with a status
)

var faultNames = [...]string{"well", "refuse", "hang", "reset", "status"}

// String returns the word of the kind.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is how a server fails.
type Fault struct {
	Kind   FaultKind
	Status int // of Answer: 500 or 503, say
	// After is how long it takes to fail: a refusal, a reset, a status.
	After time.Duration
	// Probability is the part of requests that fail; 0 is all.
	Probability float64
	// RetryAfter comes with a status of 503 or 429.
	RetryAfter time.Duration
}

// Verb is what an Event does.
type Verb uint8

// The verbs of events.
const (
	SetFault       Verb = iota // servers fail so from now on
	SetSlow                    // servers take Number times as long; 1 is as before
	SetConcurrency             // servers work on Number calls at once
	SetDelay                   // the network to the servers takes Duration longer
	SetWarm                    // servers take Number times as long after a restart, less and less for Duration
	Restart                    // servers drop what they hold and refuse for Duration; with Number they do so one by one, so many seconds apart
	Join                       // discovery lists the servers, as new incarnations
	Leave                      // discovery lists them no longer
	Drain                      // discovery lists them as draining
	SetLimit                   // discovery gives them another limit of calls at once
	SetWeight                  // discovery gives them another weight
	SetRate                    // Number calls arrive in a second
	Pause                      // the process of the callers stops for Duration
	StepClock                  // the clock of the callers jumps by Duration
)

// Event is one thing that happens.
type Event struct {
	At time.Duration
	// Servers are whom it concerns; nil for events of the callers.
	Servers []int
	// All says that it concerns the whole fleet alike: a fault that is nobody's own.
	All      bool
	Verb     Verb
	Fault    Fault
	Number   float64
	Duration time.Duration
}

// Metric is what a Must measures.
type Metric uint8

// The metrics.
const (
	Failed          Metric = iota // failed calls per call
	Refused                       // calls that the loop sent nowhere, per call
	Goodput                       // successful calls per second
	Sent                          // requests sent per call
	Dials                         // connections refused per call
	Share                         // requests sent to some servers, of all sent
	LeastShare                    // the smallest server's requests, of the mean of the chosen servers
	MostShare                     // the largest server's requests, of the mean of the chosen servers
	Ejections                     // ejections per call
	WrongEjections                // ejections of servers without a fault of their own, per call
	MarkedEjections               // ejections per marked call
	FirstFailed                   // runs whose first call of the window failed, of all runs
	Notice                        // time from the window's begin until some servers get less than a tenth of their share of attempts
	Return                        // time from the window's begin until some servers get half of their share of requests
	Peak                          // the most requests at one server, mean of runs
	Latency                       // mean latency of successful calls
	Unsent                        // failed calls of which nothing was sent, per call
	RefusedWithRoom               // calls that the loop sent nowhere while a member had room, per call
)

var metricNames = [...]string{"failed", "refused", "goodput", "sent", "dials", "share", "least-share", "most-share", "ejections",
	"wrong-ejections", "marked-ejections", "first-failed", "notice", "return", "peak", "latency", "unsent", "refused-with-room"}

// String returns the word of the metric.
func (m Metric) String() string { return metricNames[m] }

// Class is a kind of call.
type Class uint8

// The classes of calls. AnyClass is all but the marked ones.
const (
	AnyClass Class = iota
	Get
	Post
	Marked
)

var classNames = [...]string{"", "get", "post", "marked"}

// Mark is an instant of a run: At, and then so many calls. The zero Mark is the
// beginning.
type Mark struct {
	At    time.Duration
	Calls int
}

// Must is one thing that must hold, over all runs of a policy taken together.
type Must struct {
	Metric Metric
	Class  Class
	// Servers are those that Share, LeastShare, MostShare, Notice and Return look at.
	Servers []int
	// AtMost says whether the bound is an upper one.
	AtMost bool
	// The bound is Number, plus Factor times what the Subject named Of measures, or the
	// one named Or if that allows more.
	Number float64
	Factor float64
	Of, Or string
	// From and To are the window, by the instant at which calls begin: the latest
	// mark of each; none of To is the end.
	From, To []Mark
	// Policies restricts it to some policies; nil is all.
	Policies []string
	// Line is where it stands in the text.
	Line int
	// Text is the line without the word must.
	Text string
}
