package schedule

import (
	"slices"
	"time"
)

// History has the versions of an object at any moment, so that a reading can be answered
// with an old version.
type History[T any] struct{ versions []version[T] }

type version[T any] struct {
	at     time.Duration
	exists bool
	value  T
}

// Record notes how the object is from now on. The caller does not modify value later.
func (h *History[T]) Record(at time.Duration, value T, exists bool) {
	v := version[T]{at: at, exists: exists, value: value}
	if last := len(h.versions) - 1; last >= 0 && h.versions[last].at == at {
		h.versions[last] = v
		return
	}
	h.versions = append(h.versions, v)
}

// At returns the object at a time, and whether it existed.
func (h *History[T]) At(at time.Duration) (T, bool) {
	for _, v := range slices.Backward(h.versions) {
		if v.at <= at {
			return v.value, v.exists
		}
	}
	var none T
	return none, false
}

// Was reports whether the object existed and fulfilled so at any moment from a time on.
func (h *History[T]) Was(from time.Duration, so func(T) bool) bool {
	for _, v := range slices.Backward(h.versions) {
		if v.exists && so(v.value) {
			return true
		}
		if v.at <= from {
			return false
		}
	}
	return false
}
