//go:build !interleave

package linearizability

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// The models write every history of every schedule to files: what they are is
// known only to them, and neither side imports the other. The explorer has judged
// them itself; here Porcupine does, and both checkers judge what becomes of each
// when two of its results are exchanged.
func TestExplorer_Linearizable(t *testing.T) {
	folder := t.TempDir()
	models := exec.Command("go", "test", "-count=1", "-tags", "interleave", "./models")
	models.Dir = ".."
	models.Env = append(os.Environ(), "POISE_EXPLORE_HISTORIES="+folder)
	if out, err := models.CombinedOutput(); err != nil {
		t.Fatalf("the models wrote no histories: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the models wrote no histories: %v", err)
	}
	for _, file := range files {
		model, spec, all := explored(t, file)
		t.Run(model, func(t *testing.T) {
			var sum tally
			exchanged, illegal := 0, 0
			for _, h := range all {
				sum.judge(t, spec, h, Ok)
				i, j, found := exchangeable(h)
				if !found {
					continue
				}
				h[i].Result, h[j].Result = h[j].Result, h[i].Result
				exchanged++
				verdict := Judge(spec, h)
				if (verdict == Ok) != seq.Check(spec, h) {
					t.Fatalf("Porcupine says %s, spec/seq otherwise, of\n%v", verdict, h)
				}
				if verdict == Illegal {
					illegal++
				}
			}
			t.Logf("counts: explorer-histories=%d explorer-operations=%d max-explorer-concurrency=%d exchanged-histories=%d exchanged-illegal=%d",
				sum.histories, sum.operations, sum.width, exchanged, illegal)
		})
	}
}

// explored reads what the explorer wrote about one model.
func explored(t *testing.T, file string) (model string, spec seq.Spec, histories []seq.History) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Model, Spec string
		Histories   []seq.History
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Histories) == 0 {
		t.Errorf("model %s has no history", f.Model)
	}
	return f.Model, named(t, f.Spec), f.Histories
}
