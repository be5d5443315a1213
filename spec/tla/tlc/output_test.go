package tlc_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// say is one message as TLC prints it with -tool.
func say(code, class int, text string) string {
	return fmt.Sprintf("@!@!@STARTMSG %d:%d @!@!@\n%s\n@!@!@ENDMSG %d @!@!@\n", code, class, text, code)
}

func TestRead_TellsWhatARunEndedWith(t *testing.T) {
	begin := say(2262, 0, "TLC2 Version 2.18 of 20 March 2023") +
		say(2401, 3, "Please run the Java VM with another collector.") +
		"Parsing file Counter.tla\n" +
		say(2190, 0, "Finished computing initial states: 3 distinct states generated at noon.")
	end := say(2772, 0, "<Inc line 7, col 1 to line 7, col 3 of module T>: 3:6") +
		say(2199, 0, "1,008 states generated, 906 distinct states found, 0 states left on queue.") +
		say(2194, 0, "The depth of the complete state graph search is 15.")
	for _, c := range []struct {
		name, output string
		exit         int
		verdict      tlc.Verdict
		violated     string
	}{
		{"success", begin + end, 0, tlc.Success, ""},
		{"a violated invariant", begin + say(2110, 1, "Invariant Small is violated.") + end, 12, tlc.Safety, "Small"},
		{"an invariant violated at once", begin + say(2107, 1, "Invariant Small is violated by the initial state:") + end, 12, tlc.Safety, "Small"},
		{"a violated property of steps", begin + say(2112, 1, "Action property Grows is violated.") + end, 13, tlc.Safety, "Grows"},
		{"a violated temporal property", begin + say(2116, 1, "Temporal properties were violated.") + end, 13, tlc.Liveness, ""},
		{"a deadlock", begin + say(2114, 1, "Deadlock reached.") + end, 11, tlc.Deadlock, ""},
		{"a module that does not parse", begin, 150, tlc.Broken, ""},
		{"a success that was cut off", begin, 0, tlc.Broken, ""},
		{"nothing at all", "", 1, tlc.Broken, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := tlc.Read(c.output, c.exit)
			if r.Verdict != c.verdict || r.Violated != c.violated {
				t.Errorf("got %s of %q, want %s of %q", r.Verdict, r.Violated, c.verdict, c.violated)
			}
			if r.Verdict == tlc.Broken && r.Errors() == "" {
				t.Error("nothing says what is broken")
			}
		})
	}
}

func TestRead_CountsStatesAndActions(t *testing.T) {
	r := tlc.Read(say(2262, 0, "TLC2 Version 2.18 of 20 March 2023")+
		say(2190, 0, "Finished computing initial states: 3 distinct states generated at noon.")+
		say(2772, 0, "<Inc line 7, col 1 to line 7, col 3 of module T>: 0:1")+
		say(2772, 0, "<Inc line 7, col 1 to line 7, col 3 of module T>: 3:1,006")+
		say(2772, 0, "<Reset line 9, col 1 to line 9, col 3 of module T>: 0:0")+
		say(2279, 3, "Symmetry and liveness do not go together.")+
		say(2199, 0, "1,009 states generated, 906 distinct states found, 0 states left on queue.")+
		say(2194, 0, "The depth of the complete state graph search is 15."), 0)
	if r.Version != "2.18 of 20 March 2023" || r.Initial != 3 || r.Generated != 1009 || r.Distinct != 906 || r.Depth != 15 {
		t.Errorf("got %+v", r)
	}
	if want := map[string]int{"Inc": 1006, "Reset": 0}; !reflect.DeepEqual(r.Taken, want) {
		t.Errorf("actions taken: got %v, want %v", r.Taken, want)
	}
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "Symmetry") {
		t.Errorf("warnings: got %q, want the one that matters", r.Warnings)
	}
}

func TestRead_KeepsTheTrace(t *testing.T) {
	r := tlc.Read(say(2110, 1, "Invariant Small is violated.")+
		say(2217, 4, "1: <Initial predicate>\n/\\ x = 0")+say(2217, 4, "2: <Inc line 7>\n/\\ x = 1"), 12)
	if want := "1: <Initial predicate>\n/\\ x = 0\n2: <Inc line 7>\n/\\ x = 1\n"; r.Trace != want {
		t.Errorf("got %q, want %q", r.Trace, want)
	}
}
