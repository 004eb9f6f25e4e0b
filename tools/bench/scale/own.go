package scale

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const ourModules = "github.com/karpenter-linode/karpenter-linode/modules/"

// Through these core writes to the cluster and to the log: the code below them is core's own work.
var decorators = []string{
	ourModules + "operator/karpentercore.creates.",
	ourModules + "operator/karpentercore.startsSink.",
}

// own is the processor time in a CPU profile that was spent in functions of this
// repository or below them, from whichever caller; garbage collection is not
// counted.
func own(cpu io.Reader) (time.Duration, error) {
	parsed, err := profile.Parse(cpu)
	if err != nil {
		return 0, fmt.Errorf("the profile of the processor: %w", err)
	}
	at := -1
	for i, kind := range parsed.SampleType {
		if kind.Type == "cpu" && kind.Unit == "nanoseconds" {
			at = i
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("the profile of the processor has no times, only %v", parsed.SampleType)
	}
	var sum time.Duration
	for _, sample := range parsed.Sample {
		if ours(sample) {
			sum += time.Duration(sample.Value[at])
		}
	}
	return sum, nil
}

func ours(sample *profile.Sample) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if name := line.Function.Name; strings.HasPrefix(name, ourModules) && !decorates(name) {
				return true
			}
		}
	}
	return false
}

func decorates(function string) bool {
	for _, decorator := range decorators {
		if strings.HasPrefix(function, decorator) {
			return true
		}
	}
	return false
}
