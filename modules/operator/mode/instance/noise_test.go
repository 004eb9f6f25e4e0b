package instance_test

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
)

// noise is text that gzip does not make much smaller.
func noise(length int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+/"
	random, text := rand.New(rand.NewPCG(1, 2)), make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func resourceOf(text string) resource.Quantity { return resource.MustParse(text) }
