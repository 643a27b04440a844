package cyclone_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// maxNames keeps the vocabulary learnable: types and functions, the entries of
// the package's index. Constants and sentinel errors are values of these types.
const maxNames = 80

func TestVocabularyStaysSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names, values, undocumented []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			collect(decl, &names, &values, &undocumented)
		}
	}
	t.Logf("%d types and functions, %d constants and variables", len(names), len(values))
	if len(names) >= maxNames {
		slices.Sort(names)
		t.Errorf("%d names, want fewer than %d: %s", len(names), maxNames, strings.Join(names, " "))
	}
	if len(undocumented) > 0 {
		t.Errorf("no comment: %s", strings.Join(undocumented, " "))
	}
}

// collect adds the exported names that decl declares.
func collect(decl ast.Decl, names, values, undocumented *[]string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}
		if d.Recv == nil {
			*names = append(*names, d.Name.Name)
		}
		if d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) {
			*undocumented = append(*undocumented, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					*names = append(*names, s.Name.Name)
					if d.Doc == nil && s.Doc == nil {
						*undocumented = append(*undocumented, s.Name.Name)
					}
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						*values = append(*values, name.Name)
						if d.Doc == nil && s.Doc == nil {
							*undocumented = append(*undocumented, name.Name)
						}
					}
				}
			}
		}
	}
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(recv *ast.FieldList) bool {
	for expr := recv.List[0].Type; ; {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

func TestSpec_C17_ExhaustedIsStoredAsDiscarded(t *testing.T) {
	t.Parallel()
	if cyclone.StepExhausted != "discarded" {
		t.Errorf("StepExhausted is stored as %q", cyclone.StepExhausted)
	}
	info, err := json.Marshal(cyclone.StepInfo{State: cyclone.StepExhausted})
	if err != nil || !strings.Contains(string(info), `"discarded"`) {
		t.Errorf("as JSON: %s, %v", info, err)
	}
}

func TestFinishedStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[cyclone.StepState]bool{
		cyclone.StepBlocked: false, cyclone.StepWaiting: false, cyclone.StepScheduled: false, cyclone.StepReady: false,
		cyclone.StepRunning: false, cyclone.StepRetrying: false, cyclone.StepSnoozed: false,
		cyclone.StepCompleted: true, cyclone.StepExhausted: true, cyclone.StepCancelled: true,
	} {
		if state.Finished() != want {
			t.Errorf("%s: finished is %v", state, !want)
		}
	}
	for state, want := range map[cyclone.RunState]bool{
		cyclone.RunRunning: false, cyclone.RunCompleted: true, cyclone.RunFailed: true, cyclone.RunCancelled: true,
	} {
		if state.Finished() != want {
			t.Errorf("%s: finished is %v", state, !want)
		}
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(cyclone.High, cyclone.Default, cyclone.Low, cyclone.Priority(3)); got != "high default low invalid" {
		t.Errorf("got %q", got)
	}
	if wire.Priority(cyclone.High) != wire.High || wire.Priority(cyclone.Default) != wire.Default || wire.Priority(cyclone.Low) != wire.Low {
		t.Error("priorities differ from the lanes that are stored")
	}
}

func TestRunIDRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := cyclone.RunID(rapid.Int64Range(1, math.MaxInt64).Draw(t, "id"))
		parsed, err := cyclone.ParseRunID(id.String())
		if err != nil || parsed != id {
			t.Fatalf("%v is parsed as %v, %v", id, parsed, err)
		}
		text, err := json.Marshal(id)
		var back cyclone.RunID
		if err != nil || string(text) != `"`+id.String()+`"` || json.Unmarshal(text, &back) != nil || back != id {
			t.Fatalf("%v as JSON is %s, read as %v", id, text, back)
		}
	})
	var zero cyclone.RunID = 1
	if err := json.Unmarshal([]byte(`"0"`), &zero); err != nil || zero != 0 {
		t.Errorf("zero: got %v, %v", zero, err)
	}
}

func TestParseRunIDRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "0", "-1", "+1", "01", "1 ", " 1", "1e3", "0x1", "1_000", "9223372036854775808", "--all", "١"} {
		if id, err := cyclone.ParseRunID(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
		if err := new(cyclone.RunID).UnmarshalText([]byte(s)); err == nil && s != "0" {
			t.Errorf("%q is unmarshalled", s)
		}
	}
}

func TestRetryOptionsOfOperators(t *testing.T) {
	t.Parallel()
	var reopen wire.Reopen
	for _, opt := range []cyclone.RetryOption{cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("recovered")} {
		opt.ApplyRetry(&reopen)
	}
	if reopen.Attempts() != 3 || reopen.Reason != "recovered" {
		t.Errorf("got %+v", reopen)
	}
}

func TestWithOnStepEvent(t *testing.T) {
	t.Parallel()
	var seen cyclone.EventType
	cyclone.WithOnStepEvent(func(e cyclone.StepEvent) { seen = e.Type }).OnStepEvent()(cyclone.StepEvent{Type: cyclone.EventSnoozed})
	if seen != "snoozed" || (cyclone.ClientOption{}).OnStepEvent() != nil {
		t.Errorf("saw %q", seen)
	}
}
