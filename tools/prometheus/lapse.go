package prometheus

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// lapse stretches time from its beginning on. Example: with speed 60, a sample of the third second counts as a sample of the third minute.
type lapse struct {
	began time.Time
	speed int64
}

// at returns the stretched time of a moment. Both are in milliseconds since 1970.
func (l lapse) at(moment int64) int64 {
	began := l.began.UnixMilli()
	return began + (moment-began)*l.speed
}

// lapsed stores samples at the stretched times of a lapse.
type lapsed struct {
	storage.Appendable

	lapse lapse
}

func (l lapsed) Appender(ctx context.Context) storage.Appender {
	return appender{l.Appendable.Appender(ctx), l.lapse}
}

type appender struct {
	storage.Appender

	lapse lapse
}

func (a appender) Append(ref storage.SeriesRef, l labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	return a.Appender.Append(ref, l, a.lapse.at(t), v)
}

func (a appender) AppendHistogram(
	ref storage.SeriesRef, l labels.Labels, t int64, h *histogram.Histogram, f *histogram.FloatHistogram,
) (storage.SeriesRef, error) {
	return a.Appender.AppendHistogram(ref, l, a.lapse.at(t), h, f)
}
