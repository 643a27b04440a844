package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// A ratio pairs values of one round; rounds that one side sat out have none.
func TestRatiosPairRounds(t *testing.T) {
	t.Parallel()
	rate := func(v float64) stage.Sample { return stage.Sample{stage.JobsPerSecond: v} }
	all := map[string]turns{
		contender.Cyclone: {rate(100), rate(200), rate(300), nil},
		contender.Asynq:   {rate(10), nil, rate(20), rate(40)},
	}
	got := table([]string{contender.Cyclone, contender.Asynq, contender.Floor}, all, stage.JobsPerSecond, "jobs/s", false)
	if diff := cmp.Diff([]float64{10, 15}, got.Cells[1].Ratio.Samples); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{10, 20, 40}, got.Cells[1].Value.Samples); diff != "" {
		t.Error(diff)
	}
	if n := all[contender.Asynq].count(); n != 3 {
		t.Errorf("%d rounds were measured", n)
	}
	if got.Cells[0].Ratio != nil || got.Cells[2].Value != nil || got.Cells[2].Ratio != nil {
		t.Errorf("cells %+v", got.Cells)
	}
}

func TestFailuresAreBrief(t *testing.T) {
	t.Parallel()
	same := errors.New("no connection")
	if got := brief(errors.Join(same, same, errors.New("and more"))); got != "no connection; and more" {
		t.Errorf("it says %q", got)
	}
	if got := brief(errors.New(strings.Repeat("€", 1000))); len(got) > longestFailure+len(" …") || !strings.HasSuffix(got, "€ …") {
		t.Errorf("it says %q", got)
	}
}
