// Package sim runs a whole load-balancing loop in virtual time: calls arrive,
// the loop chooses, servers and networks answer or fail, and what became of every
// call is counted. A run uses one goroutine and no clock, and equal seeds give
// equal runs.
//
// What is simulated is the world: arrivals, servers, networks, discovery, pauses
// and clocks. The loop is not simulated. The Subject named "loop" is the shipped
// [github.com/copyleftdev/poise-go/pkg/dispatch.Loop] with its default settings,
// driven by the instants of the run. Other Subjects stand beside it: plain
// rotation with and without retries, the same loop without passive health, and an
// oracle that knows which server is well. A program may bring its own.
//
// A Scenario is a text: the servers, the calls, what happens and when, and what
// must hold. [Parse] describes the form; the folder scenarios has those of this
// repository. Judge runs a scenario with many seeds, pools the counts and
// compares them with what must hold.
package sim
