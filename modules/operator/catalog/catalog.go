package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// Config configures a Catalog.
type Config struct {
	Region         string
	Mode           v1alpha1.Mode       // whose fields of a class count; "" = lke
	Plans          selection.Selection // the plans that may be bought; zero = the defaults
	Prices         selection.Prices    // of plans for which the API lists none
	Tier           string              // of the LKE cluster; "" = standard in lke mode, and not used in the others
	MemoryOverhead *float64            // see Settings
	Interval       time.Duration       // between reads; 0 = 5 min
	Launches       *launches.Memory    // has the plans that rest; nil = none are known from before
	OnRefresh      func(error)         // a read has ended; after a failed read the old data stays; may be nil
}

// Catalog serves instance types from memory.
type Catalog struct {
	client API
	cfg    Config

	mu           sync.Mutex
	plans        []Plan
	availability map[string]bool
	learned      map[string]Figures                       // figures of registered nodes, by LearnedBy
	hourly       map[string]float64                       // price of every plan that was ever listed
	version      int                                      // grows when plans, availability or what was learned change
	state        string                                   // the input of converted
	converted    map[string][]*cloudprovider.InstanceType // by what of a class counts
}

// NewCatalog returns an empty catalog; call Refresh before using it.
func NewCatalog(client API, cfg Config) *Catalog {
	if cfg.Interval <= 0 {
		cfg.Interval = 5 * time.Minute
	}
	cfg.Plans = cfg.Plans.OrDefault()
	cfg.Mode = cmp.Or(cfg.Mode, v1alpha1.ModeLKE)
	cfg.Tier = TierIn(cfg.Mode, cfg.Tier)
	cfg.Launches = cmp.Or(cfg.Launches, launches.New(launches.Config{}))
	return &Catalog{client: client, cfg: cfg, learned: map[string]Figures{}, hourly: map[string]float64{}}
}

// Refresh reads plans and availability. On an error the old data stays.
func (c *Catalog) Refresh(ctx context.Context) (err error) {
	if c.cfg.OnRefresh != nil {
		defer func() { c.cfg.OnRefresh(err) }()
	}
	listed, err := Plans(ctx, c.client)
	if err != nil {
		return err
	}
	for i := range listed {
		listed[i] = listed[i].priced(c.cfg.Region, c.cfg.Prices)
	}
	usable := slices.DeleteFunc(slices.Clone(listed), func(p Plan) bool { return !p.usable() })
	plans := slices.DeleteFunc(slices.Clone(usable), func(p Plan) bool { return p.Excluded(c.cfg.Plans) != "" })
	switch {
	case len(usable) == 0:
		return errors.New("reading Linode types: the API lists no plan that LKE could use")
	case len(plans) == 0:
		return &ExclusionError{Plans: usable, By: c.cfg.Plans}
	}
	slices.SortStableFunc(plans, func(a, b Plan) int { return strings.Compare(a.ID, b.ID) })
	plans = slices.CompactFunc(plans, func(a, b Plan) bool { return a.ID == b.ID })
	availability, err := Availability(ctx, c.client, c.cfg.Region)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range listed {
		c.hourly[p.ID] = p.PriceIn(c.cfg.Region).Hourly
	}
	if !reflect.DeepEqual(c.plans, plans) || !reflect.DeepEqual(c.availability, availability) {
		c.plans, c.availability = plans, availability
		c.version++
	}
	return nil
}

// ExclusionError reports that the settings exclude all plans.
type ExclusionError struct {
	Plans []Plan // that there are
	By    selection.Selection
}

func (e *ExclusionError) Error() string {
	return fmt.Sprintf("reading Linode types: the settings exclude all %d plans: allowed %v, denied %v", len(e.Plans), e.By.Allow, e.By.Deny)
}

// Unmatched returns the first pattern of PLANS_ALLOW that matches no existing plan, "" if each pattern matches one. It also returns all
// texts that would match a plan: IDs and classes.
func (e *ExclusionError) Unmatched() (pattern string, texts []string) {
	pattern = e.By.Allow.Unmatched(func(yield func(string, []string) bool) {
		for _, p := range e.Plans {
			if !yield(p.ID, p.classes()) {
				return
			}
		}
	})
	for _, p := range e.Plans {
		texts = append(texts, p.ID)
		for _, class := range p.classes() {
			if class = selection.ClassPrefix + class; !slices.Contains(texts, class) {
				texts = append(texts, class)
			}
		}
	}
	return pattern, texts
}

// Start reads again and again until ctx ends. It is a Runnable of controller-runtime's manager.
func (c *Catalog) Start(ctx context.Context) error {
	_ = wait.PollUntilContextCancel(ctx, c.cfg.Interval, false, func(ctx context.Context) (bool, error) {
		_ = c.Refresh(ctx) // OnRefresh gets the error
		return false, nil
	})
	return nil
}

// NeedLeaderElection returns false: a waiting replica reads, too, so that it has plans and prices when it takes over.
func (c *Catalog) NeedLeaderElection() bool { return false }

// InstanceTypes returns all instance types, with the sizes that nodes of a class have. A type that cannot be bought now, or whose disk is
// too small for the class, has an unavailable offering. A nil class sets nothing. The slice belongs to the caller, and the instance types
// are shared.
func (c *Catalog) InstanceTypes(class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType {
	if class != nil {
		class = class.Effective(c.cfg.Mode)
	} else {
		class = &v1alpha1.LinodeNodeClassSpec{}
	}
	key := shapeOf(class).text()
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused []string
	for _, p := range c.plans {
		if _, rests := c.cfg.Launches.Resting(p.ID); rests {
			refused = append(refused, p.ID)
		}
	}
	if state := fmt.Sprint(c.version, refused); state != c.state {
		c.state, c.converted = state, map[string][]*cloudprovider.InstanceType{}
	}
	if _, ok := c.converted[key]; !ok {
		c.converted[key] = c.convert(refused, class)
	}
	return slices.Clone(c.converted[key])
}

// convert gives a plan without a price an unavailable offering, because the plan would be the cheapest of all. The plan stays in the
// list, because core replaces the nodes of a type that is no longer listed. A plan without an entry in the list of availability is
// available.
func (c *Catalog) convert(refused []string, class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType {
	result := make([]*cloudprovider.InstanceType, 0, len(c.plans))
	for _, p := range c.plans {
		available, restricted := c.availability[p.ID]
		buyable := (available || !restricted) && !slices.Contains(refused, p.ID) && p.PriceIn(c.cfg.Region).Hourly > 0
		root, fits := RootDisk(p, class)
		result = append(result, Convert(p, buyable && fits, Settings{
			Region: c.cfg.Region, Tier: c.cfg.Tier, MemoryOverhead: c.cfg.MemoryOverhead, Learned: c.learnedOf(p.ID, shapeOf(class)),
			Kubelet: class.Kubelet, RootDisk: max(root, 1), Disks: Disks(class),
		}))
	}
	return result
}

// Unpriced returns the plans that could be bought if their price were known.
func (c *Catalog) Unpriced() (plans []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plans {
		available, restricted := c.availability[p.ID]
		_, rests := c.cfg.Launches.Resting(p.ID)
		if (available || !restricted) && !rests && p.PriceIn(c.cfg.Region).Hourly <= 0 {
			plans = append(plans, p.ID)
		}
	}
	return plans
}

// HourlyUSD returns a plan's price in the catalog's region. It returns false if no price was ever listed. A plan that the settings
// exclude, or that is no longer listed, has its last listed price, because Linode still bills its nodes.
func (c *Catalog) HourlyUSD(plan string) (float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	price := c.hourly[plan]
	return price, price > 0
}

// Launches returns the memory of failed launches.
func (c *Catalog) Launches() *launches.Memory { return c.cfg.Launches }

// AtLeastAsLarge names the other plans that have at least as much of every resource as the given plan. A limit of the account or of the
// settings that refuses the plan refuses these plans, too: core would try one after the other, each dearer than the last. Smaller plans
// stay, because the limit may concern only large plans, or GPUs.
func (c *Catalog) AtLeastAsLarge(plan string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.plans, func(p Plan) bool { return p.ID == plan })
	for _, p := range c.plans {
		if i >= 0 && p.ID != plan && p.VCPUs >= c.plans[i].VCPUs && p.Memory >= c.plans[i].Memory && p.GPUs >= c.plans[i].GPUs {
			names = append(names, p.ID)
		}
	}
	return names
}
