package pacing_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

func TestPausesGrowWithFailuresInARow(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var record pacing.Record
	for i, want := range []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		now = now.Add(time.Hour)
		pause := record.Failed(now, pacing.Joins)
		if pause != want || record.InARow != i+1 || !record.Last.Equal(now) || !record.Until.Equal(now.Add(want)) {
			t.Errorf("after failure %d: a pause of %s, want %s; %+v", i+1, pause, want, record)
		}
	}
}
