package world

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// bucket is a bucket with who may read and write it. It holds no objects.
type bucket struct {
	api.Bucket
	acl  string
	cors bool
}

const (
	serverKind = "E1" // most recorded servers are of this kind
	shortKeys  = "[REDACTED]"
	mostKeys   = 100 // as the recorded quota; the words of its refusal are not known
)

// Labels follow the rules of S3; the words are not known.
var bucketLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{1,61})[a-z0-9]$`)

// server names the server of a region.
func server(region string) api.ObjectStorageRegion {
	return api.ObjectStorageRegion{ID: region, S3Endpoint: region + "-1.linodeobjects.com", EndpointType: serverKind}
}

// region is that of a request, which may have its older name.
func regionOf(region, cluster *string) string {
	return cmp.Or(deref(region), strings.TrimSuffix(deref(cluster), "-1"))
}

// find returns a bucket, by the ID of its region or the older name.
func (w Buckets) find(region, label string) (bucket, error) {
	region = regionOf(nil, &region)
	if r, ok := w.Offers().region(region); !ok || !catalog.Has(r, catalog.CapObjectStorage) {
		return bucket{}, answered(http.StatusNotFound, "The specified region was not found or does not support Object Storage.")
	}
	return lookup(w.assets.buckets, region+"/"+label)
}

// ListBuckets lists them by region and label.
func (w Buckets) ListBuckets() ([]api.Bucket, error) {
	return each(sorted(w.assets.buckets), func(b bucket) api.Bucket { return b.Bucket }), nil
}

// GetBucket finds one.
func (w Buckets) GetBucket(regionID, label string) (api.Bucket, error) {
	b, err := w.find(regionID, label)
	return b.Bucket, err
}

// CreateBucket makes one.
func (w Buckets) CreateBucket(b *api.BucketCreate) (api.Bucket, error) {
	var bad reasons
	region := regionOf(b.Region, b.Cluster)
	w.Offers().checkRegion(&bad, region, catalog.CapObjectStorage, "Object Storage is")
	if !bucketLabel.MatchString(b.Label) {
		bad.add("label", "Label must be 3-63 lower-case letters, digits, - and .")
	}
	if _, there := w.assets.buckets[region+"/"+b.Label]; there {
		bad.add("label", "Label must be unique among your buckets")
	}
	if err := bad.err(); err != nil {
		return api.Bucket{}, err
	}
	at := server(region)
	made := bucket{acl: cmp.Or(string(deref(b.ACL)), "private"), cors: b.CorsEnabled == nil || *b.CorsEnabled, Bucket: api.Bucket{
		Label: b.Label, Region: region, Cluster: region + "-1", Created: w.stamp(), Hostname: b.Label + "." + at.S3Endpoint,
		S3Endpoint: at.S3Endpoint, EndpointType: cmp.Or(deref(b.EndpointType), at.EndpointType),
	}}
	w.assets.buckets[region+"/"+b.Label] = made
	w.note(AssetCreated, "bucket "+region+"/"+b.Label, 0)
	return made.Bucket, nil
}

// DeleteBucket removes one.
func (w Buckets) DeleteBucket(regionID, label string) error {
	b, err := w.find(regionID, label)
	if err != nil {
		return err
	}
	delete(w.assets.buckets, b.Region+"/"+label)
	w.note(AssetDeleted, "bucket "+b.Region+"/"+label, 0)
	return nil
}

// GetBucketAccess returns who may read and write a bucket. The XML is empty.
func (w Buckets) GetBucketAccess(regionID, label string) (api.BucketAccess, error) {
	b, err := w.find(regionID, label)
	return api.BucketAccess{ACL: b.acl, ACLXML: "<AccessControlPolicy/>", CorsEnabled: &b.cors, CorsXML: new("<CORSConfiguration/>")}, err
}

// UpdateBucketAccess changes that.
func (w Buckets) UpdateBucketAccess(regionID, label string, u *api.BucketAccessUpdate) error {
	b, err := w.find(regionID, label)
	if err != nil {
		return err
	}
	b.acl = cmp.Or(string(deref(u.ACL)), b.acl)
	set(&b.cors, u.CorsEnabled)
	w.assets.buckets[b.Region+"/"+label] = b
	w.note(AssetChanged, "bucket "+b.Region+"/"+label, 0)
	return nil
}

// withoutSecret is a key as all answers but the first have it.
func withoutSecret(k api.ObjectStorageKey) api.ObjectStorageKey {
	k.SecretKey = shortKeys
	return k
}

// ListObjectStorageKeys lists them by ID.
func (w Buckets) ListObjectStorageKeys() ([]api.ObjectStorageKey, error) {
	return each(sorted(w.assets.keys), withoutSecret), nil
}

func (w Buckets) key(id int) (api.ObjectStorageKey, error) {
	k, there := w.assets.keys[id]
	if !there {
		return k, answered(http.StatusNotFound, "The specified access key was not found.")
	}
	return withoutSecret(k), nil
}

// GetObjectStorageKey finds one.
func (w Buckets) GetObjectStorageKey(keyID int) (api.ObjectStorageKey, error) { return w.key(keyID) }

// CreateObjectStorageKey makes one; no other answer has its secret.
func (w Buckets) CreateObjectStorageKey(b *api.ObjectStorageKeyCreate) (api.ObjectStorageKey, error) {
	var bad reasons
	checkLength(&bad, "label", b.Label, 3, 50)
	regions := deref(b.Regions)
	for n, access := range deref(b.BucketAccess) {
		region := regionOf(access.Region, access.Cluster)
		if _, err := w.find(region, access.BucketName); err != nil {
			bad.add(fmt.Sprintf("bucket_access[%d].bucket_name", n), "There is no bucket %s in %s", access.BucketName, region)
		}
		regions = union(regions, []string{region})
	}
	for n, region := range regions {
		w.Offers().checkRegion(&bad, region, catalog.CapObjectStorage, "Object Storage is")
		for at := range bad {
			if bad[at].Field == "region" {
				bad[at].Field = fmt.Sprintf("regions[%d]", n)
			}
		}
	}
	if len(w.assets.keys) >= mostKeys {
		bad.add("", "The account has %d keys, and can have no more", mostKeys)
	}
	if err := bad.err(); err != nil {
		return api.ObjectStorageKey{}, err
	}
	if len(regions) == 0 {
		for _, r := range w.Offers().regions() {
			if catalog.Has(r, catalog.CapObjectStorage) {
				regions = append(regions, r.ID)
			}
		}
	}
	k := api.ObjectStorageKey{
		ID: w.sideID(&w.seq.key), Label: b.Label, Limited: b.BucketAccess != nil, Regions: each(slices.Sorted(slices.Values(regions)), server),
	}
	k.AccessKey, k.SecretKey = fmt.Sprintf("SIMULATED%011d", k.ID), fmt.Sprintf("simulated-secret-%d", k.ID)
	if b.BucketAccess != nil {
		k.BucketAccess = new(each(*b.BucketAccess, func(p api.BucketPermission) api.BucketPermission {
			region := regionOf(p.Region, p.Cluster)
			p.Region, p.Cluster = &region, new(region+"-1")
			return p
		}))
	}
	w.assets.keys[k.ID] = k
	w.note(AssetCreated, fmt.Sprintf("object storage key %d", k.ID), 0)
	return k, nil
}

// DeleteObjectStorageKey removes one.
func (w Buckets) DeleteObjectStorageKey(keyID int) error {
	if _, err := w.key(keyID); err != nil {
		return err
	}
	delete(w.assets.keys, keyID)
	w.note(AssetDeleted, fmt.Sprintf("object storage key %d", keyID), 0)
	return nil
}
