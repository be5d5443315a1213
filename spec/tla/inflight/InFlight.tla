------------------------------ MODULE InFlight ------------------------------
\* Models: the lock-free counter that admits leases up to a limit.
\* Go: pkg/inflight.go InFlight, Lease.
\* Grain: one action is one atomic operation, or a call that needs none.
\* Left out: Load and Unit, which read the counter as Current does; a caller that
\* holds several leases.
\* Drawn: limit, used.
EXTENDS Naturals, FiniteSets

CONSTANTS Callers, \* goroutines; each has a variable for one lease
          Limits,  \* what NewInFlight may be given; 0 is no limit
          Max,     \* stands for the largest uint64
          Bug      \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Callers) /\ Callers # {}
       /\ Limits \subseteq Nat
       /\ Max \in Nat \ {0}

VARIABLES limit, \* the field limit
          used,  \* the field used
          lease, \* per caller: its lease, never acquired, held or ended
          pc,    \* per caller: where it is in its call
          seen,  \* per caller: what it loaded, 0 when that no longer matters
          last   \* the last step: operation, caller, whose lease, result
vars == <<limit, used, lease, pc, seen, last>>

Held == {c \in Callers : lease[c] = "held"}
Giving == {c \in Callers : pc[c] = "giving"}
Full == (limit # 0 \/ Bug = "ZeroIsALimit") /\ used >= limit

TypeOK == /\ limit \in Limits
          /\ used \in 0..Max
          /\ lease \in [Callers -> {"none", "held", "ended"}]
          /\ pc \in [Callers -> {"idle", "loaded", "again", "giving"}]
          /\ seen \in [Callers -> 0..Max]
-----------------------------------------------------------------------------
Init == /\ limit \in Limits
        /\ used = 0
        /\ lease = [c \in Callers |-> "none"]
        /\ pc = [c \in Callers |-> "idle"]
        /\ seen = [c \in Callers |-> 0]
        /\ last = [op |-> "Init", by |-> "", of |-> "", res |-> ""]

Acquiring(c) == \/ pc[c] = "idle" /\ lease[c] # "held"
                \/ pc[c] = "again"

\* Go: (*InFlight).Acquire, the load that finds room.
AcquireLoad(c) == /\ Acquiring(c)
                  /\ ~Full
                  /\ used < Max
                  /\ seen' = [seen EXCEPT ![c] = used]
                  /\ pc' = [pc EXCEPT ![c] = "loaded"]
                  /\ last' = [op |-> "AcquireLoad", by |-> c, of |-> c, res |-> ""]
                  /\ UNCHANGED <<limit, used, lease>>

\* Go: (*InFlight).Acquire, the load that finds none.
AcquireRefused(c) == /\ Acquiring(c)
                     /\ Full \/ used = Max
                     /\ pc' = [pc EXCEPT ![c] = "idle"]
                     /\ used' = IF Bug = "RefusalCounts" /\ used < Max THEN used + 1 ELSE used
                     /\ last' = [op |-> "AcquireRefused", by |-> c, of |-> c,
                                 res |-> IF Full THEN "at the limit" ELSE "exhausted"]
                     /\ UNCHANGED <<limit, lease, seen>>

\* Go: (*InFlight).Acquire, the compare-and-swap that succeeds.
AcquireCAS(c) == /\ pc[c] = "loaded"
                 /\ used = seen[c] \/ Bug = "StoreInsteadOfCAS"
                 /\ used' = seen[c] + 1
                 /\ lease' = [lease EXCEPT ![c] = "held"]
                 /\ pc' = [pc EXCEPT ![c] = "idle"]
                 /\ seen' = [seen EXCEPT ![c] = 0]
                 /\ last' = [op |-> "AcquireCAS", by |-> c, of |-> c, res |-> "lease"]
                 /\ UNCHANGED limit

\* Go: (*InFlight).Acquire, the compare-and-swap that fails; it starts over.
AcquireRetry(c) == /\ pc[c] = "loaded"
                   /\ used # seen[c]
                   /\ Bug # "StoreInsteadOfCAS"
                   /\ pc' = [pc EXCEPT ![c] = IF Bug = "RetriesUnread" THEN "loaded" ELSE "again"]
                   /\ seen' = [seen EXCEPT ![c] = IF Bug = "RetriesUnread" THEN @ ELSE 0]
                   /\ last' = [op |-> "AcquireRetry", by |-> c, of |-> c, res |-> ""]
                   /\ UNCHANGED <<limit, used, lease>>

\* Go: (*Lease).Release, the compare-and-swap that ends the lease.
ReleaseCAS(c, of) == /\ pc[c] = "idle"
                     /\ lease[of] = "held"
                     /\ lease' = [lease EXCEPT ![of] = "ended"]
                     /\ pc' = [pc EXCEPT ![c] = "giving"]
                     /\ last' = [op |-> "ReleaseCAS", by |-> c, of |-> of, res |-> ""]
                     /\ UNCHANGED <<limit, used, seen>>

\* Go: (*Lease).Release, of a lease that has ended or never was.
ReleaseAgain(c, of) == /\ pc[c] = "idle"
                       /\ lease[of] # "held"
                       /\ used' = IF Bug = "ReleaseTwice" /\ used > 0 THEN used - 1 ELSE used
                       /\ last' = [op |-> "ReleaseAgain", by |-> c, of |-> of, res |-> "false"]
                       /\ UNCHANGED <<limit, lease, pc, seen>>

\* Go: (*Lease).Release, the subtraction.
ReleaseAdd(c) == /\ pc[c] = "giving"
                 /\ Bug # "ReleaseWaits" \/ used < limit
                 /\ used' = IF Bug = "ReleaseKeeps" THEN used ELSE used - 1
                 /\ pc' = [pc EXCEPT ![c] = "idle"]
                 /\ last' = [op |-> "ReleaseAdd", by |-> c, of |-> c, res |-> "true"]
                 /\ UNCHANGED <<limit, lease, seen>>

Next == \E c \in Callers : \/ AcquireLoad(c)
                           \/ AcquireRefused(c)
                           \/ AcquireCAS(c)
                           \/ AcquireRetry(c)
                           \/ \E of \in Callers : ReleaseCAS(c, of)
                           \/ \E of \in Callers : ReleaseAgain(c, of)
                           \/ ReleaseAdd(c)

\* A call that has begun goes on: each of its steps is always possible, so weak
\* fairness is enough. Nobody has to begin one.
Spec == /\ Init
        /\ [][Next]_vars
        /\ \A c \in Callers : /\ WF_vars(pc[c] = "again" /\ AcquireLoad(c))
                              /\ WF_vars(pc[c] = "again" /\ AcquireRefused(c))
                              /\ WF_vars(AcquireCAS(c))
                              /\ WF_vars(AcquireRetry(c))
                              /\ WF_vars(ReleaseAdd(c))
-----------------------------------------------------------------------------
\* Claim: Leases held at once never exceed the limit.
NeverOverLimit == limit # 0 => Cardinality(Held) <= limit

\* Claim: Current is the number of leases that were acquired and not released.
UsedMatchesLeases == used = Cardinality(Held) + Cardinality(Giving)

\* Claim: Acquire at the limit answers a CapacityError and changes nothing.
RefusalChangesNothing == [][last'.op = "AcquireRefused" => UNCHANGED <<used, lease>>]_vars

\* Claim: An unlimited InFlight refuses only when its counter is exhausted.
UnlimitedRefusesOnlyExhausted == [][last'.op = "AcquireRefused" /\ limit = 0 => used = Max]_vars

\* Claim: The first Release gives the slot back and returns true; every later one
\* returns false and changes nothing.
\*
\* Claim: Releasing the zero Lease returns false.
LaterReleaseChangesNothing == [][last'.res = "false" => UNCHANGED <<used, lease>>]_vars

\* A Release that ended its lease gives the slot back, whatever others do.
ReleaseEnds == \A c \in Callers : pc[c] = "giving" ~> pc[c] = "idle"

\* An Acquire goes on for ever only while others work.
UndisturbedAcquireEnds ==
  \A c \in Callers : pc[c] \in {"loaded", "again"} ~> pc[c] = "idle" \/ \E d \in Callers \ {c} : pc[d] # "idle"
-----------------------------------------------------------------------------
Witness_ReachesLimit == limit # 0 => Cardinality(Held) < limit
Witness_CASFails == last.op # "AcquireRetry"
Witness_RefusedAtLimit == last.res # "at the limit"
Witness_RefusedExhausted == last.res # "exhausted"
Witness_LosesTheRelease == ~(last.res = "false" /\ Giving # {} /\ lease[last.of] = "ended")
=============================================================================
