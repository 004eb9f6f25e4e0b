//go:build race

package lkepool_test

// usualSchedules: the race detector makes a schedule ten times as dear, and
// needs no thousands of them to see what is shared.
const usualSchedules = 200
