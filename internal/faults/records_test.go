package faults_test

import (
	"strings"
	"testing"
	"time"
)

// The check of what tasks record finds what it is there for.
func TestCheckRecords(t *testing.T) {
	t.Parallel()
	// Each word is an execution, which is a zombie's if it is 9, and an event: "1s" begins, "1r2" runs step 2, "1h2" has
	// its result, "1p2" has replayed it, "1e" ends.
	const whole = "1s 1r1 1h1 1r2 1h2 1r3 1h3 1r4 1h4 1r5 1h5 1e"
	for name, tt := range map[string]struct{ words, want string }{
		"in one go":            {whole, ""},
		"killed and replayed":  {"1s 1r1 1h1 1r2 1h2 1r3 2s 2p1 2p2 2r3 2h3 2r4 2h4 2r5 2h5 2e", ""},
		"killed after a write": {"1s 1r1 2s 2p1 2r2 2h2 2r3 2h3 2r4 2h4 2r5 2h5 2e", ""},
		"zombie runs a step":   {"1s 1r1 1h1 2s 2p1 2r2 2h2 1r2 2r3 2h3 2r4 2h4 2r5 2h5 2e", ""},
		"run again":            {"1s 1r1 1h1 2s 2r1 2h1 2r2 2h2 2r3 2h3 2r4 2h4 2r5 2h5 2e", "although it had been recorded"},
		"late zombie":          {whole + " 9s 9r1", ""},
		"gap of a zombie":      {whole + " 9s 9r2", "step 2 ran after 0 were there"},
		"gap in the replay":    {whole + " 2s 2p1 2p3", "step 3 (replayed: true) after 1 were there"},
		"gap in what runs":     {"1s 1r1 1h1 1r3", "step 3 ran after 1 were there"},
		"replay behind a run":  {whole + " 2s 2p1", ""},
		"replay after a run":   {"1s 1r1 1h1 1p2", "step 2 was replayed after step 1 had run"},
		"not all of it":        {"1s 1r1 1h1 1e", "it ended after 1 steps"},
		"never recorded":       {"1s 1r1 1h1", "step 2 was never recorded"},
		"another value":        {whole + " 2s 2o1", `step 1 is "v1" and "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []entry
			for i, word := range strings.Fields(tt.words) {
				e := entry{pid: int(word[0] - '0'), line: line{Execution: 1, At: time.Unix(int64(i), 0)}}
				if len(word) > 2 {
					e.Step = int(word[2] - '0')
					e.Value = "v" + word[2:]
				}
				switch word[1] {
				case 's':
					e.Event = "start"
				case 'r':
					e.Event = "ran"
				case 'e':
					e.Event = "end"
				case 'o':
					e.Event, e.Value, e.Replayed = "have", "other", true
				default:
					e.Event, e.Replayed = "have", word[1] == 'p'
				}
				all = append(all, e)
			}
			err := checkRecords(all, map[int]bool{9: true})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
