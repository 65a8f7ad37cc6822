// Package placement decides which brokers hold the replicas of new partitions (Place), how those of existing ones are put
// right by moving the least (Repair), says in words why neither can be done, and judges any replica list against the rack
// rule and any plan against what it was made of. Values in, values out: it never changes its inputs, knows no clock and no
// chance, and gives the same answer for the same brokers in any order.
//
// # Rack rule
//
// The replication factor minus the largest number of replicas in one rack must be at least min.insync.replicas, so
// that writes go on after the loss of any one rack. Replication factor 3 with 2 in sync allows one replica in a rack,
// 5 with 3 allows two. Racks are counted over registered brokers, fenced ones too, because an outage is not a smaller
// cluster; new replicas go to unfenced brokers only. With a required rule a broker without broker.rack holds nothing;
// with best effort such brokers form one rack with an empty name.
//
// # Algorithm of Place
//
// Wishes are placed in their order, and each one counts as load for those after it. Of one wish all preferred leaders
// are chosen first, then the followers of each partition. Both take the broker that is smallest by a list of keys.
//
// Preferred leader:
//  1. fewest preferred leaders of this topic, existing and new;
//  2. fewest preferred leaders placed by this call;
//  3. fewest preferred leaders in all;
//  4. fewest preferred leaders of this topic, then of this call, in the broker's rack;
//  5. fewest replicas in all;
//  6. tie-break.
//
// Follower:
//  1. fewest replicas of this partition in the broker's rack;
//  2. fewest replicas of this topic, existing and new;
//  3. fewest replicas placed by this call;
//  4. fewest replicas in all;
//  5. most preferred leaders in all, because those with fewer get replicas as leaders soon;
//  6. fewest partitions of this call that join this leader with this follower, so that the load of a broker that fails
//     spreads over many;
//  7. tie-break.
//
// The tie-break is a hash of topic name, partition and broker ID, then the lower ID.
//
// Why this holds: because key 1 of the leaders comes in full rounds over the brokers and key 2 decides who is in the
// last, unfinished round, leaders differ by at most one between brokers, within each new topic and within the call. Key 1
// of the followers fills racks like water, which gives the smallest possible maximum per rack; so the rack rule is met
// whenever it can be met, whichever broker leads.
//
// At the end, followers are exchanged inside racks: while two brokers of a rack differ by two or more replicas placed by
// this call; then, between brokers that differ by one of those, while the fuller one has two or more in all above the
// other. Evenness within a topic that exists is never spent on that, within a new one only where nothing else helps.
// For new topics whose partitions have no two replicas in one rack this always ends with a difference of at most one
// replica of this call in every rack: because leaders differ by one at most, within each topic and in all, a broker with
// two more than another has a follower to give in some topic in which it holds no fewer.
//
// # Algorithm of Repair
//
// A partition is put right when Judge finds something wrong with it on the brokers that stay: those registered, without
// the ones to be left. The number of its new replicas is fixed: the replication factor, minus what may stay when each rack
// keeps at most its share. Everything else is choice.
//
// Of the replicas that are too many in a rack, or above the replication factor, goes the one that is smallest by
//  1. not the leader before the leader;
//  2. out of sync before in sync;
//  3. most replicas of the partition in its rack;
//  4. not the preferred leader before the preferred leader;
//  5. most replicas in all on its broker, then the higher ID.
//
// Partitions of which keys 1 to 4 decide come first, so that key 5 sees the load that will be. Then new replicas go, one
// by one in the order of topics and partitions, to the unfenced broker that is smallest by
//  1. in the rack of a replica on a broker to be left that is not yet replaced;
//  2. fewest replicas of this partition in its rack;
//  3. fewest replicas in all;
//  4. fewest replicas of this topic;
//  5. fewest bytes to be copied to it by this plan;
//  6. tie-break.
//
// A preferred leader that stays remains so. Otherwise it is the replica, in sync or new, whose broker has the fewest
// preferred leaders, then its rack, then the present leader. Those choices are made again until none would be better by
// two leaders. Why a list may be longer than the replication factor for a while is told in docs/adr/0008.
//
// # Complexity
//
// Place takes O(partitions x replication factor x brokers) time, and memory for the result plus a few counters per
// broker and at most one counter per pair of brokers. The exchanges take a few passes over the result, none when it is
// even. Repair takes O(partitions x replication factor x log brokers) time to look and O(new replicas x brokers) to
// choose; it allocates for its result and a few flat tables, never for each partition. Judge and Feasible are linear in
// their inputs, apart from sorting.
package placement
