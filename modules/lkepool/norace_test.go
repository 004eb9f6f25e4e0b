//go:build !race

package lkepool_test

const usualSchedules = 2000
