package lkepool

import "sync"

// each calls do for every item, so many at a time, and returns when all of it
// is done.
func each[T any](items []T, atATime int, do func(T)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, atATime)
	for _, item := range items {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			do(item)
		})
	}
	group.Wait()
}
