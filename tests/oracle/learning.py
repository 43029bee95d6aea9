"""Mining and losses as slow, obvious loops over Python numbers.

A box is (x1, y1, x2, y2); a pseudo box is (region, class, score), in class order, best first.
"""

import math


def iou(a, b):
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    shared = width * height
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if union > 0 else 0.0


def ranked(scores, c):
    return sorted(range(len(scores)), key=lambda r: (-scores[r][c], r))


def mist(scores, boxes, tags, top_share=0.15, overlap=0.2, greedy=False):
    """Alg. 1, line by line."""
    chosen = []
    for c in tags:
        candidates = ranked(scores, c)[: max(1, math.floor(top_share * len(boxes)))]
        kept = []
        for i, r in enumerate(candidates):
            better = kept if greedy else candidates[:i]
            if all(iou(boxes[r], boxes[other]) < overlap for other in better):
                kept.append(r)
        chosen += [(r, c, scores[r][c]) for r in kept]
    return chosen


def oicr(scores, tags):
    scores = [list(row) for row in scores]
    chosen = []
    for c in tags:
        if scores:
            best = ranked(scores, c)[0]
            chosen.append((best, c, scores[best][c]))
            scores[best] = [0.0] * len(scores[best])
    return chosen


def three_means(values):
    """The values in the cluster of the highest mean."""
    centres = [max(values), (max(values) + min(values)) / 2, min(values)]
    for _ in range(100):
        clusters = [[], [], []]
        for value in values:
            distances = [abs(value - centre) for centre in centres]
            clusters[distances.index(min(distances))].append(value)
        centres = [
            sum(cluster) / len(cluster) if cluster else centre
            for cluster, centre in zip(clusters, centres, strict=True)
        ]
    return clusters[0]


def pcl(scores, boxes, tags, graph_overlap=0.4, clusters_per_tag=5):
    chosen = []
    for c in tags:
        if not boxes:
            continue
        top = set(three_means([row[c] for row in scores]))
        left = [r for r in ranked(scores, c) if scores[r][c] in top]
        centres = []
        while left:
            near = {
                r: [s for s in left if s == r or iou(boxes[r], boxes[s]) > graph_overlap]
                for r in left
            }
            centre = max(left, key=lambda r: len(near[r]))
            centres.append((centre, c, max(scores[r][c] for r in near[centre])))
            left = [r for r in left if r not in near[centre]]
        order = ranked(scores, c)
        centres.sort(key=lambda found: (-found[2], order.index(found[0])))
        chosen += centres[:clusters_per_tag]
    return chosen


def assign(chosen, boxes, foreground_overlap=0.5, strictly_above=False, conflicts="score"):
    """(label, weight, index into `chosen`) of every region."""
    taught = []
    for box in boxes:
        if not chosen:
            taught.append((0, 0.0, 0))
            continue
        overlaps = [iou(box, boxes[region]) for region, _, _ in chosen]
        follows = overlaps.index(max(overlaps))
        claims = [
            n
            for n, overlap in enumerate(overlaps)
            if overlap > foreground_overlap
            or (overlap == foreground_overlap and not strictly_above)
        ]
        if claims and conflicts == "score":
            follows = max(claims, key=lambda n: (chosen[n][2], -n))
        _, c, score = chosen[follows]
        taught.append((c + 1 if claims else 0, score, follows))
    return taught


def encode(box, anchor):
    width, height = anchor[2] - anchor[0], anchor[3] - anchor[1]
    return [
        10 * ((box[0] + box[2]) / 2 - (anchor[0] + anchor[2]) / 2) / width,
        10 * ((box[1] + box[3]) / 2 - (anchor[1] + anchor[3]) / 2) / height,
        5 * math.log((box[2] - box[0]) / width),
        5 * math.log((box[3] - box[1]) / height),
    ]


def softmax(values):
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def region_scores(class_logits, detection_logits):
    """Eq. 1."""
    rows = [softmax(row) for row in class_logits]
    columns = [softmax(column) for column in zip(*detection_logits, strict=True)]
    return [[rows[r][c] * columns[c][r] for c in range(len(rows[r]))] for r in range(len(rows))]


def image_loss(phi, tags, kind):
    """Eq. 2 and its two binary forms; phi has C+1 entries, background first."""
    total = 0.0
    for column, evidence in enumerate(phi):
        if column - 1 in tags:
            total -= math.log(max(evidence, 1e-10))
        elif kind == "bce-with-background" or (kind == "bce" and column > 0):
            total -= math.log(max(1 - evidence, 1e-10))
    return total / {"bce-with-background": len(phi), "bce": len(phi) - 1, "paper": 1}[kind]


def class_term(logits, taught):
    """First sum of Eq. 4, by region."""
    total = 0.0
    for row, (label, weight, _) in zip(logits, taught, strict=True):
        total -= weight * math.log(softmax(row)[label])
    return total / max(len(logits), 1)


def cluster_class_term(logits, taught):
    """The same by cluster, as PCL writes it."""
    total = 0.0
    clusters = {}
    for row, (label, weight, follows) in zip(logits, taught, strict=True):
        if label == 0:
            total -= weight * math.log(softmax(row)[0])
        else:
            clusters.setdefault((follows, weight), []).append(softmax(row)[label])
    for (_, weight), probabilities in clusters.items():
        size = len(probabilities)
        total -= weight * size * math.log(sum(probabilities) / size)
    return total / max(len(logits), 1)


def box_term(deltas, taught, targets):
    """Second sum of Eq. 4; deltas hold four numbers a class."""
    total = 0.0
    for row, (label, weight, _), target in zip(deltas, taught, targets, strict=True):
        if label > 0:
            for delta, goal in zip(row[4 * label : 4 * label + 4], target, strict=True):
                error = abs(delta - goal)
                total += weight * (error * error / 2 if error < 1 else error - 0.5)
    return total / max(len(deltas), 1)


def merge(scores, boxes, score_threshold, overlap, top):
    """(region, class) of the detections, best first."""
    order = sorted(
        ((-score, r, c) for r, row in enumerate(scores) for c, score in enumerate(row)),
    )
    kept = []
    for negative, r, c in order:
        apart = all(k != c or iou(boxes[r][c], boxes[q][k]) <= overlap for q, k in kept)
        if -negative > score_threshold and apart:
            kept.append((r, c))
    return kept[:top]
