package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDerive_MakesEachBugAndWitnessFromItsRow(t *testing.T) {
	files := goodTree()
	files["switch/Switch.cfg"] = &fstest.MapFile{Data: []byte("SPECIFICATION Spec\nVIEW on\nCONSTANTS\n  Bug = \"None\"\n  Lights = 3\nINVARIANTS\n  TypeOK\n  Truth\nPROPERTY\n  Changes\n")}
	files["switch/Switch_Live.cfg"] = &fstest.MapFile{Data: []byte("SPECIFICATION Spec\nCONSTANTS\n  Bug = \"None\"\n  Lights = 2\nPROPERTY\n  GoesOff\n")}
	files[manifestFile] = &fstest.MapFile{Data: []byte(`[
  {"config":"Switch_Bug_Stuck","violates":"Truth"},
  {"config":"Switch_Bug_Still","violates":"Changes","bounds":"Dump"},
  {"config":"Switch_Bug_Burns","violates":"GoesOff","with":{"Lights":"9"}},
  {"config":"Switch_Witness_On","violates":"Witness_On","bounds":"Live"}
]
`)}
	tree, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Switch_Bug_Stuck":  `SPECIFICATION Spec CONSTANTS Bug = "Stuck" Lights = 3 INVARIANT Truth`,
		"Switch_Bug_Still":  `SPECIFICATION Spec CONSTANTS Bug = "Still" Lights = 1 PROPERTY Changes`,
		"Switch_Bug_Burns":  `SPECIFICATION Spec CONSTANTS Bug = "Burns" Lights = 9 CHECK_DEADLOCK FALSE PROPERTY GoesOff`,
		"Switch_Witness_On": `SPECIFICATION Spec CONSTANTS Bug = "None" Lights = 2 INVARIANT Witness_On`,
	} {
		if got := strings.Join(strings.Fields(tree.configs[name]), " "); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestConfigs_WritesWhatTLCNeedsByHand(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "spec", "tla"), goodTree()); err != nil {
		t.Fatal(err)
	}
	if err := command(t.Context(), []string{"configs", "-root", root}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Switch.tla", "Switch.cfg", "Switch_Dump.cfg", "Switch_Bug_Stuck.cfg", "Switch_Witness_On.cfg"} {
		if text, err := os.ReadFile(filepath.Join(root, "out", "tla", "switch", name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
