package instancetype

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/selection"
)

// Source is where plans and their availability come from.
type Source interface {
	Plans(ctx context.Context) ([]Plan, error)
	// Availability has an entry for each plan of restricted availability in the region.
	Availability(ctx context.Context, region string) (map[string]bool, error)
}

// Config configures a Catalog.
type Config struct {
	Region         string
	Plans          selection.Selection // what may be bought at all; zero = the defaults
	MemoryOverhead float64
	Interval       time.Duration // between reads; 0 = 5 min
	OnRefresh      func(error)   // a read has ended; after one that failed the old data stays; may be nil
	OnRefused      func(Refusal) // an offering was marked as unavailable that was not; may be nil
}

// Offered is one plan as it can be bought now, for metrics.
type Offered struct {
	InstanceType string
	Region       string
	HourlyUSD    float64
	Available    bool
	VCPUs        int64
	MemoryBytes  int64 // that a node is expected to show
}

// Catalog serves instance types from memory.
type Catalog struct {
	source      Source
	cfg         Config
	unavailable *cache.Expiring // marked, by plan

	mu             sync.Mutex
	snapshot       snapshot
	learned        map[string]Figures                       // what nodes have shown, by plan
	hourly         map[string]float64                       // price of every plan that was ever listed
	learnedVersion int                                      // grows when learned changes
	state          string                                   // what converted was made from
	converted      map[string][]*cloudprovider.InstanceType // by kubelet settings
}

type snapshot struct {
	number       int // grows when the data changes
	plans        []Plan
	availability map[string]bool
}

// NewCatalog returns an empty catalog; call Refresh before using it.
func NewCatalog(source Source, cfg Config) *Catalog {
	if cfg.Interval <= 0 {
		cfg.Interval = 5 * time.Minute
	}
	cfg.Plans = cfg.Plans.OrDefault()
	return &Catalog{source: source, cfg: cfg, unavailable: cache.NewExpiring(), learned: map[string]Figures{}, hourly: map[string]float64{}}
}

// Refresh reads plans and availability. On an error the old data stays.
func (c *Catalog) Refresh(ctx context.Context) error {
	err := c.refresh(ctx)
	if c.cfg.OnRefresh != nil {
		c.cfg.OnRefresh(err)
	}
	return err
}

func (c *Catalog) refresh(ctx context.Context) error {
	all, err := c.source.Plans(ctx)
	if err != nil {
		return fmt.Errorf("reading Linode types: %w", err)
	}
	listed := slices.Clone(all)
	usable := slices.DeleteFunc(all, func(p Plan) bool { return p.unusable() != "" })
	plans := slices.DeleteFunc(slices.Clone(usable), func(p Plan) bool { return p.Excluded(c.cfg.Plans) != "" })
	switch {
	case len(usable) == 0:
		return fmt.Errorf("reading Linode types: the API lists none that LKE could use")
	case len(plans) == 0:
		return fmt.Errorf("reading Linode types: the settings exclude all %d plans: allowed %v, denied %v", len(usable), c.cfg.Plans.Allow, c.cfg.Plans.Deny)
	}
	slices.SortStableFunc(plans, byID)
	plans = slices.CompactFunc(plans, func(a, b Plan) bool { return byID(a, b) == 0 })
	availability, err := c.source.Availability(ctx, c.cfg.Region)
	if err != nil {
		return fmt.Errorf("reading the availability of Linode types in %s: %w", c.cfg.Region, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range listed {
		c.hourly[p.ID] = p.Price(c.cfg.Region)
	}
	if !reflect.DeepEqual(c.snapshot.plans, plans) || !reflect.DeepEqual(c.snapshot.availability, availability) {
		c.snapshot = snapshot{number: c.snapshot.number + 1, plans: plans, availability: availability}
	}
	return nil
}

func byID(a, b Plan) int { return strings.Compare(a.ID, b.ID) }

// Start reads again and again until ctx ends. It is a Runnable of controller-runtime's manager.
func (c *Catalog) Start(ctx context.Context) error {
	_ = wait.PollUntilContextCancel(ctx, c.cfg.Interval, false, func(ctx context.Context) (bool, error) {
		_ = c.Refresh(ctx) // OnRefresh has heard of it
		return false, nil
	})
	return nil
}

// NeedLeaderElection is false: a replica that waits reads too, so that it has all when it takes over.
func (c *Catalog) NeedLeaderElection() bool { return false }

// InstanceTypes returns all instance types, those that cannot be bought now with an unavailable
// offering. The slice is the caller's, the instance types are shared.
func (c *Catalog) InstanceTypes(kubelet *v1alpha1.KubeletConfiguration) []*cloudprovider.InstanceType {
	key := kubeletKey(kubelet)
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := sets.New[string]()
	for _, p := range c.snapshot.plans {
		if _, is := c.unavailable.Get(p.ID); is {
			refused.Insert(p.ID)
		}
	}
	if state := fmt.Sprint(c.snapshot.number, c.learnedVersion, sets.List(refused)); state != c.state {
		c.state, c.converted = state, map[string][]*cloudprovider.InstanceType{}
	}
	if _, ok := c.converted[key]; !ok {
		c.converted[key] = c.convert(refused, kubelet)
	}
	return slices.Clone(c.converted[key])
}

// convert takes a plan without a price out of what can be bought: it would be the cheapest of all. It stays in the list,
// because core replaces the nodes of a type that is not there any more.
func (c *Catalog) convert(refused sets.Set[string], kubelet *v1alpha1.KubeletConfiguration) []*cloudprovider.InstanceType {
	kubelet = kubelet.DeepCopy()
	result := make([]*cloudprovider.InstanceType, 0, len(c.snapshot.plans))
	for _, p := range c.snapshot.plans {
		result = append(result, Convert(p, c.snapshot.buyable(p.ID) && !refused.Has(p.ID) && p.Price(c.cfg.Region) > 0, Settings{
			Region: c.cfg.Region, MemoryOverhead: c.cfg.MemoryOverhead, Learned: c.learned[p.ID], Kubelet: kubelet,
		}))
	}
	return result
}

// buyable is true for a plan without an entry: the list names only plans of restricted availability.
func (s snapshot) buyable(plan string) bool {
	available, listed := s.availability[plan]
	return available || !listed
}

// Offered returns what can be bought now, and what not.
func (c *Catalog) Offered() []Offered {
	all := c.InstanceTypes(nil)
	result := make([]Offered, 0, len(all))
	for _, it := range all {
		result = append(result, Offered{
			InstanceType: it.Name, Region: c.cfg.Region,
			HourlyUSD: it.Offerings[0].Price, Available: it.Offerings[0].Available,
			VCPUs: it.Capacity.Cpu().Value(), MemoryBytes: it.Capacity.Memory().Value(),
		})
	}
	return result
}

// HourlyUSD returns a plan's price in the catalog's region, false if none was ever listed. A plan that may not be bought, or is not
// listed any more, has the price that was listed last: nodes of it are billed all the same.
func (c *Catalog) HourlyUSD(plan string) (float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	price := c.hourly[plan]
	return price, price > 0
}

// kubeletKey distinguishes kubelet settings by everything in them, so that a setting that is added to the
// type later cannot be forgotten here. Maps are written in the order of their keys.
func kubeletKey(kubelet *v1alpha1.KubeletConfiguration) string {
	key, err := json.Marshal(kubelet)
	if err != nil {
		return fmt.Sprintf("%#v", kubelet) // unreachable for a Kubernetes type; distinct all the same
	}
	return string(key)
}
