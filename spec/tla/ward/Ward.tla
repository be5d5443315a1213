-------------------------------- MODULE Ward --------------------------------
\* Models: endpoints that share a ward, of which only so many may be set aside at once.
\* Go: pkg/dispatch/ward.go Ward.
\* Go: pkg/dispatch/quarantine.go Quarantine, Permit.
\* Grain: one action is one call; a Quarantine is one critical section, and whoever
\* takes a place in the ward does it by one compare-and-swap.
\* Left out: QuarantineConfig.Off; time and successes, which Quarantine has: whoever
\* asks for the return here asks when the time is over. The release of those beyond the bound, which
\* needs a Balancer.
\* Drawn: size, inside.
EXTENDS Naturals, FiniteSets

CONSTANTS Endpoints, \* those in the group; each has one call at a time
          Failures,  \* QuarantineConfig.Failures
          MaxAside,  \* QuarantineConfig.MaxAside
          Sizes,     \* what Resize may be told
          Epochs,    \* how often each endpoint may be set aside
          Bug        \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Endpoints) /\ Endpoints # {}
       /\ {Failures, MaxAside, Epochs} \subseteq Nat \ {0}
       /\ Sizes \subseteq Nat

VARIABLES size,     \* what Resize was told last, 0 before
          inside,   \* the number inside, in the lower half of the field beds
          epoch,    \* per endpoint: the field epoch
          failures, \* per endpoint: the field failures
          rounds,   \* per endpoint: the field rounds
          aside,    \* per endpoint: the field aside
          retired,  \* per endpoint: the field retired
          permit,   \* per endpoint: the epoch of the permit of its call, none for no call
          last      \* the last call: operation, endpoint, size, result
vars == <<size, inside, epoch, failures, rounds, aside, retired, permit, last>>
fields == <<epoch, failures, rounds, aside, retired>>

Bound == (size * MaxAside) \div 100
Aside == {e \in Endpoints : aside[e]}
NoPermit == Epochs + 1

\* What bounds the count of failures, which nothing resets while the ward is full.
Most == Failures + Epochs

TypeOK == /\ size \in Sizes \cup {0}
          /\ inside \in 0..Cardinality(Endpoints)
          /\ epoch \in [Endpoints -> 0..Epochs]
          /\ failures \in [Endpoints -> 0..Most]
          /\ rounds \in [Endpoints -> 0..Epochs]
          /\ {aside, retired} \subseteq [Endpoints -> BOOLEAN]
          /\ permit \in [Endpoints -> 0..NoPermit]
-----------------------------------------------------------------------------
Say(op, e, n, res) == last' = [op |-> op, of |-> e, size |-> n, res |-> res]

Init == /\ size = 0 /\ inside = 0
        /\ epoch = [e \in Endpoints |-> 0]
        /\ failures = [e \in Endpoints |-> 0]
        /\ rounds = [e \in Endpoints |-> 0]
        /\ aside = [e \in Endpoints |-> FALSE]
        /\ retired = [e \in Endpoints |-> FALSE]
        /\ permit = [e \in Endpoints |-> NoPermit]
        /\ last = [op |-> "Init", of |-> "", size |-> 0, res |-> ""]

\* Go: (*Ward).Resize, which puts nobody out.
Resize(n) == /\ size' = n
             /\ inside' = IF Bug = "ResizeEmpties" THEN 0 ELSE inside
             /\ Say("Resize", "", n, "")
             /\ UNCHANGED <<fields, permit>>

\* Go: (*Quarantine).Admit.
Admit(e) == /\ permit[e] = NoPermit
            /\ permit' = IF aside[e] THEN permit ELSE [permit EXCEPT ![e] = epoch[e]]
            /\ Say("Admit", e, 0, IF aside[e] THEN "set aside" ELSE "permit")
            /\ UNCHANGED <<size, inside, fields>>

Counts(e) == /\ permit[e] = epoch[e]
             /\ ~retired[e] \/ Bug = "CountsRetired"
Room == inside < Bound \/ Bug = "NoBound"

\* Go: (*Quarantine).Report, of a result that says nothing any more.
ReportIgnored(e) == /\ permit[e] # NoPermit
                    /\ ~Counts(e)
                    /\ permit' = [permit EXCEPT ![e] = NoPermit]
                    /\ Say("ReportIgnored", e, 0, "goes on")
                    /\ UNCHANGED <<size, inside, fields>>

\* Go: (*Quarantine).Report, of a failure that does not set the endpoint aside: it is
\* not enough, or the ward is full.
ReportFailure(e) == /\ permit[e] # NoPermit
                    /\ Counts(e)
                    /\ failures[e] < Most
                    /\ failures[e] + 1 < Failures \/ ~Room
                    /\ failures' = [failures EXCEPT ![e] = IF Bug = "KeptForgets" /\ @ + 1 >= Failures THEN 0 ELSE @ + 1]
                    /\ permit' = [permit EXCEPT ![e] = NoPermit]
                    /\ Say("ReportFailure", e, 0, "goes on")
                    /\ UNCHANGED <<size, inside, epoch, rounds, aside, retired>>

\* Go: (*Quarantine).Report, of the failure that sets the endpoint aside.
ReportSetsAside(e) == /\ permit[e] # NoPermit
                      /\ Counts(e)
                      /\ failures[e] < Most
                      /\ failures[e] + 1 >= Failures
                      /\ Room
                      /\ epoch[e] < Epochs
                      /\ inside' = inside + 1
                      /\ failures' = [failures EXCEPT ![e] = @ + 1]
                      /\ epoch' = [epoch EXCEPT ![e] = @ + 1]
                      /\ rounds' = [rounds EXCEPT ![e] = @ + 1]
                      /\ aside' = [aside EXCEPT ![e] = TRUE]
                      /\ permit' = [permit EXCEPT ![e] = NoPermit]
                      /\ Say("ReportSetsAside", e, 0, "set aside")
                      /\ UNCHANGED <<size, retired>>

\* Go: (*Quarantine).Return, once the time aside is over.
Return(e) == /\ inside' = IF aside[e] /\ Bug # "KeepsItsPlace" THEN inside - 1 ELSE inside
             /\ aside' = [aside EXCEPT ![e] = FALSE]
             /\ Say("Return", e, 0, "")
             /\ UNCHANGED <<size, epoch, failures, rounds, retired, permit>>

\* Go: (*Quarantine).Retire, of an endpoint that was removed.
Retire(e) == /\ inside' = IF aside[e] THEN inside - 1 ELSE inside
             /\ aside' = [aside EXCEPT ![e] = FALSE]
             /\ retired' = [retired EXCEPT ![e] = TRUE]
             /\ Say("Retire", e, 0, "")
             /\ UNCHANGED <<size, epoch, failures, rounds, permit>>

Next == \/ \E n \in Sizes : Resize(n)
        \/ \E e \in Endpoints : \/ Admit(e)
                                \/ ReportIgnored(e)
                                \/ ReportFailure(e)
                                \/ ReportSetsAside(e)
                                \/ Return(e)
                                \/ Retire(e)

Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
Enters(e) == ~aside[e] /\ aside'[e]

\* Claim: A Quarantine is in its Ward exactly while its endpoint is aside.
InsideExactlyAside == inside = Cardinality(Aside)

\* Claim: Enter succeeds exactly while fewer are inside than MaxAside percent of the
\* endpoints, rounded down.
EntersOnlyWithRoom == [][\A e \in Endpoints : Enters(e) => (Cardinality(Aside) + 1) * 100 <= size * MaxAside]_vars

\* Claim: A Quarantine whose Ward is full stays admitting instead, and asks again at
\* its next failure.
KeepsAdmittingAndAsksAgain ==
  [][last'.op = "ReportFailure" =>
       /\ ~aside'[last'.of]
       /\ failures[last'.of] + 1 >= Failures => failures'[last'.of] >= Failures]_vars

\* Claim: Resize puts nobody out: who is inside stays until it leaves.
ResizePutsNobodyOut == [][last'.op = "Resize" => UNCHANGED <<inside, fields>>]_vars

\* Claim: Retire is final: the endpoint is not aside, and is never set aside again.
RetireIsFinal == \A e \in Endpoints : retired[e] => ~aside[e]
-----------------------------------------------------------------------------
Witness_Kept == ~(last.op = "ReportFailure" /\ failures[last.of] >= Failures /\ inside > 0)
Witness_AsksAgain == ~(last.op = "ReportSetsAside" /\ failures[last.of] > Failures /\ rounds[last.of] = 1)
Witness_Overfull == inside <= Bound
Witness_RetiredWithACall == ~(last.op = "ReportIgnored" /\ retired[last.of] /\ epoch[last.of] = 0)
Witness_SetAsideAgain == \A e \in Endpoints : rounds[e] < 2
=============================================================================
