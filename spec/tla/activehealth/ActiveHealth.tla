---------------------------- MODULE ActiveHealth ----------------------------
\* Models: who may probe a candidate, when, and what the results make of it.
\* Go: pkg/health/active_health.go ActiveHealth, Reservation.
\* Grain: one action is one call, because each is one critical section.
\* Left out: UnknownPolicy, and who waits for a change. Time is what has passed since
\* the last reservation and since the last end, in ticks; the clock stands still
\* while it does not matter. A reservation may be ended by anybody at any time, and
\* again and again; 0 is the one that was never issued.
EXTENDS Integers

CONSTANTS HealthyThreshold,   \* ActiveHealthConfig.HealthyThreshold
          UnhealthyThreshold, \* ActiveHealthConfig.UnhealthyThreshold
          Interval,           \* ActiveHealthConfig.Interval, in ticks
          UnhealthyInterval,  \* ActiveHealthConfig.UnhealthyInterval, in ticks
          UnknownInterval,    \* ActiveHealthConfig.UnknownInterval, in ticks
          Jitter,             \* ActiveHealthConfig.Jitter
          Hold,               \* ActiveHealthConfig.Hold, in ticks
          Probes,             \* how often Reserve may succeed
          StepsBack,          \* how often the clock may step back
          Bug                 \* the planted fault, "None" for none

ASSUME /\ {HealthyThreshold, UnhealthyThreshold, Interval, UnhealthyInterval, UnknownInterval, Hold, Probes} \subseteq Nat \ {0}
       /\ Jitter \in 0..99
       /\ StepsBack \in Nat

VARIABLES condition, \* the field condition
          good,      \* the field healthy
          bad,       \* the field unhealthy
          number,    \* the field number
          running,   \* the field running
          held,      \* now minus the field reserved; 0 while not running
          probed,    \* the field probed
          idle,      \* now minus the field ended; 0 if nothing has ended
          draw,      \* the field draw: 1 if it takes off all that it may, 0 if nothing
          back,      \* how often the clock may still step back
          last       \* the last call: operation, reservation, argument, draw and result
vars == <<condition, good, bad, number, running, held, probed, idle, draw, back, last>>
found == <<condition, good, bad>>

Conditions == {"unknown", "healthy", "unhealthy"}
Max(a, b) == IF a > b THEN a ELSE b
IntervalOf(k) == CASE k = "healthy" -> Interval
                   [] k = "unhealthy" -> UnhealthyInterval
                   [] OTHER -> UnknownInterval
Longest == Max(Interval, Max(UnhealthyInterval, UnknownInterval))

\* What the jitter may take off. A graph is walked with at most 1, so that a draw is
\* one bit.
Span(k) == (IntervalOf(k) * Jitter) \div 100
Wait == IntervalOf(condition) - draw * (IF Bug = "JitterTakesAll" THEN IntervalOf(condition) ELSE Span(condition))

\* What is the case at this instant, whether anybody has noticed or not.
Held == Max(held, 0)
Lost == running /\ Held >= Hold
Out == running /\ ~Lost
Ended == probed \/ Lost
Idle == IF Lost THEN Held - Hold ELSE Max(idle, 0)
Live(n) == Out /\ n = number
DueIn == IF Out THEN Hold + Wait - Held
         ELSE IF Ended THEN Max(Wait - Idle, 0)
         ELSE 0

TypeOK == /\ condition \in Conditions
          /\ {good, bad, number} \subseteq 0..Probes
          /\ {running, probed} \subseteq BOOLEAN
          /\ draw \in 0..1
          /\ back \in 0..StepsBack
          /\ ~running => held = 0
          /\ ~probed => idle = 0
-----------------------------------------------------------------------------
Say(op, n, arg, d, res) == last' = [op |-> op, of |-> n, arg |-> arg, draw |-> d, res |-> res]

Init == /\ condition = "unknown" /\ good = 0 /\ bad = 0
        /\ number = 0 /\ running = FALSE /\ held = 0
        /\ probed = FALSE /\ idle = 0 /\ draw = 0
        /\ back = StepsBack
        /\ last = [op |-> "Init", of |-> 0, arg |-> "", draw |-> 0, res |-> 0]

\* What a call that may change something sees.
Notices == Lost /\ Bug # "HoldsForEver"
Running == running /\ ~Notices
SinceReserved == IF Bug = "TrustsTheClock" THEN held ELSE Held
SinceEnded == CASE Notices -> IF Bug = "LostEndsNow" THEN 0 ELSE Idle
                [] ~Notices /\ Bug = "TrustsTheClock" -> idle
                [] OTHER -> Max(idle, 0)
ToWait == IF Running THEN Hold + Wait - SinceReserved
          ELSE IF probed \/ Notices THEN Max(Wait - SinceEnded, 0)
          ELSE 0

\* And what it leaves if it does nothing more.
Settle == /\ running' = Running
          /\ held' = IF Running THEN SinceReserved ELSE 0
          /\ probed' = (probed \/ Notices)
          /\ idle' = SinceEnded

\* Go: (*ActiveHealth).Reserve, of a probe that is due. The draw is what the jitter
\* takes off the waits that follow.
Reserve(d) ==    /\ ~Running \/ Bug = "ReservesTwice"
                 /\ ToWait = 0 \/ Bug = "ReservesTwice" \/ Bug = "NeverWaits"
                 /\ number < Probes
                 /\ number' = number + 1
                 /\ running' = TRUE
                 /\ held' = 0
                 /\ probed' = (probed \/ Notices)
                 /\ idle' = SinceEnded
                 /\ draw' = d
                 /\ Say("Reserve", 0, "", d, 0)
                 /\ UNCHANGED <<found, back>>

\* Go: (*ActiveHealth).Reserve, too soon. The result is how long there is to wait.
ReserveTooSoon == /\ ~Running
                     /\ ToWait > 0
                     /\ Settle
                     /\ Say("ReserveTooSoon", 0, "", 0, ToWait)
                     /\ UNCHANGED <<found, number, draw, back>>

\* Go: (*ActiveHealth).Reserve, while a probe is running. The result is how long
\* there is to wait, negative.
ReserveRunning == /\ Running
                     /\ Settle
                     /\ Say("ReserveRunning", 0, "", 0, -ToWait)
                     /\ UNCHANGED <<found, number, draw, back>>

Issued(n) == n <= number
Counts(n) == Issued(n) /\ Running /\ (n = number \/ Bug = "IgnoresTheNumber")

\* Whatever ends a reservation.
End == /\ running' = FALSE
       /\ held' = 0
       /\ probed' = TRUE
       /\ idle' = 0

\* Go: (*ActiveHealth).Complete, of a probe that succeeded.
CompleteHealthy(n) ==
  /\ Counts(n)
  /\ End
  /\ good' = good + 1
  /\ bad' = IF Bug = "KeepsTheOtherCount" THEN bad ELSE 0
  /\ condition' = IF good + 1 >= HealthyThreshold THEN "healthy" ELSE condition
  /\ Say("CompleteHealthy", n, "healthy", 0, 1)
  /\ UNCHANGED <<number, draw, back>>

\* Go: (*ActiveHealth).Complete, of a probe that failed.
CompleteUnhealthy(n) ==
  /\ Counts(n)
  /\ End
  /\ good' = 0
  /\ bad' = bad + 1
  /\ condition' = IF bad + 1 >= UnhealthyThreshold \/ Bug = "OneIsEnough" THEN "unhealthy" ELSE condition
  /\ Say("CompleteUnhealthy", n, "unhealthy", 0, 1)
  /\ UNCHANGED <<number, draw, back>>

\* Go: (*ActiveHealth).Complete, of a reservation that is not outstanding.
CompleteIgnored(n, result) ==
  /\ Issued(n)
  /\ ~Counts(n)
  /\ Settle
  /\ Say("CompleteIgnored", n, result, 0, 0)
  /\ UNCHANGED <<found, number, draw, back>>

\* Go: (*ActiveHealth).Cancel.
Cancel(n) == /\ Counts(n)
             /\ End
             /\ bad' = IF Bug = "CountsCancelled" THEN bad + 1 ELSE bad
             /\ Say("Cancel", n, "", 0, 1)
             /\ UNCHANGED <<condition, good, number, draw, back>>

\* Go: (*ActiveHealth).Cancel, of a reservation that is not outstanding.
CancelIgnored(n) == /\ Issued(n)
                    /\ ~Counts(n)
                    /\ Settle
                    /\ Say("CancelIgnored", n, "", 0, 0)
                    /\ UNCHANGED <<found, number, draw, back>>

\* Go: (*ActiveHealth).Force.
Force(k) == /\ condition' = k
            /\ good' = IF Bug = "ForceKeepsTheCounts" THEN good ELSE 0
            /\ bad' = 0
            /\ running' = (Running /\ Bug = "ForceKeepsTheProbe")
            /\ held' = IF Running /\ Bug = "ForceKeepsTheProbe" THEN SinceReserved ELSE 0
            /\ probed' = (probed \/ Notices)
            /\ idle' = IF Bug = "ForcePutsOff" THEN 0 ELSE SinceEnded
            /\ Say("Force", 0, k, 0, 0)
            /\ UNCHANGED <<number, draw, back>>

\* Go: (*ActiveHealth).Due.
Due == /\ Say("Due", 0, "", 0, DueIn)
       /\ UNCHANGED <<found, number, running, held, probed, idle, draw, back>>

Matters == \/ running /\ held < Hold + Longest
           \/ ~running /\ probed /\ idle < Longest

\* World: the clock goes on.
Tick == /\ Matters
        /\ held' = IF running THEN held + 1 ELSE 0
        /\ idle' = IF probed THEN idle + 1 ELSE 0
        /\ Say("Tick", 0, "", 0, 0)
        /\ UNCHANGED <<found, number, running, probed, draw, back>>

\* World: the clock steps back, by more than the longest time that it may cost.
StepBack == /\ Matters
            /\ back > 0
            /\ held' = IF running THEN held - (Hold + Longest) ELSE 0
            /\ idle' = IF probed THEN idle - (Hold + Longest) ELSE 0
            /\ back' = back - 1
            /\ Say("StepBack", 0, "", 0, 0)
            /\ UNCHANGED <<found, number, running, probed, draw>>

Next == \/ \E d \in 0..1 : Reserve(d)
        \/ ReserveTooSoon
        \/ ReserveRunning
        \/ \E n \in 0..Probes : \/ CompleteHealthy(n)
                               \/ CompleteUnhealthy(n)
                               \/ \E r \in {"healthy", "unhealthy"} : CompleteIgnored(n, r)
                               \/ Cancel(n)
                               \/ CancelIgnored(n)
        \/ \E k \in Conditions : Force(k)
        \/ Due
        \/ Tick
        \/ StepBack

\* Time passes, and somebody asks to probe again and again; both stay possible, the
\* one until every wait is over and the other from then on.
Spec == Init /\ [][Next]_vars /\ WF_vars(Tick) /\ WF_vars(\E d \in 0..1 : Reserve(d))
-----------------------------------------------------------------------------
Completes == {"CompleteHealthy", "CompleteUnhealthy"}
Ignored == {"CompleteIgnored", "CancelIgnored"}
Refused == {"ReserveTooSoon", "ReserveRunning"}

\* Claim: At most one reservation is outstanding at any instant.
NeverTwo == [][last'.op = "Reserve" => ~Out]_vars

\* Claim: Reserve succeeds exactly when no reservation is outstanding and Due answers 0.
ReservesExactlyWhenDue == [][/\ last'.op = "Reserve" => DueIn = 0
                             /\ last'.op \in Refused => DueIn > 0]_vars

\* Claim: Only the outstanding reservation has effect: one that was completed,
\* cancelled, voided or lost before is reported as such and changes nothing.
OnlyTheLiveOneHasEffect ==
  [][/\ last'.op \in Completes \cup {"Cancel"} => Live(last'.of)
     /\ last'.op \in Ignored => ~Live(last'.of) /\ UNCHANGED <<found, number, draw>>]_vars

\* Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in
\* a row as its threshold says have agreed, and otherwise stays.
OnlyARunDecides ==
  [][last'.op # "Force" =>
       condition' = IF last'.op = "CompleteHealthy" /\ good + 1 >= HealthyThreshold THEN "healthy"
                    ELSE IF last'.op = "CompleteUnhealthy" /\ bad + 1 >= UnhealthyThreshold THEN "unhealthy"
                    ELSE condition]_vars

\* Claim: A result starts the count of the opposite one again.
ResultsStartTheOtherCountAgain == good = 0 \/ bad = 0

\* Claim: A cancelled probe leaves the condition and both counts alone.
CancelledChangesNothing == [][last'.op = "Cancel" => UNCHANGED found]_vars

\* Claim: Force sets the condition at once, starts both counts again and voids the
\* outstanding reservation.
ForceActsAtOnce ==
  last.op = "Force" => condition = last.arg /\ good = 0 /\ bad = 0 /\ ~running

\* A probe that was due stays due, and none is put off but to the interval of the
\* new condition.
ForcePutsNothingOff == [][last'.op = "Force" /\ Ended => idle' = Idle]_vars

\* Claim: A reservation that is not ended within Hold is lost, and counts as cancelled
\* at the instant its Hold ended.
LostIsCancelledWhenItsHoldEnds ==
  [][Lost /\ last'.op \notin {"Due", "Tick", "StepBack"} => /\ probed' /\ idle' = Held - Hold
                                                            /\ last'.op # "Reserve" => ~running']_vars

\* Claim: Each wait is at most the interval and at least what Jitter leaves of it,
\* which is never nothing.
WaitIsJittered == /\ Wait > 0 /\ Wait <= IntervalOf(condition)
                  /\ 100 * Wait >= (100 - Jitter) * IntervalOf(condition)

\* Claim: A clock that steps back costs at most one more interval, or one more Hold,
\* from the next Reserve.
StepBackCostsOneWait == /\ last.op = "ReserveTooSoon" => last.res <= Wait
                        /\ last.op = "ReserveRunning" => -last.res <= Hold + Wait

\* A probe becomes due again whatever became of the one before, and a lost one never
\* blocks for ever.
ProbedAgain == \A n \in 0..(Probes - 1) : (number = n) ~> (number > n)
-----------------------------------------------------------------------------
Witness_Unhealthy == condition # "unhealthy" \/ bad = 0
Witness_Recovered == ~(last.op = "CompleteHealthy" /\ condition = "healthy" /\ good > HealthyThreshold)
Witness_LateResult == ~(last.op = "CompleteIgnored" /\ running /\ last.of = number - 1 /\ last.of > 0)
Witness_LostAndDueAgain == ~(Lost /\ DueIn = 0)
Witness_VoidedWhileRunning == ~(last.op = "CancelIgnored" /\ ~running /\ ~probed /\ number > 0)
Witness_ClockBehind == ~(probed /\ idle < 0)
Witness_ClockBehindAHold == ~(running /\ held < 0)
Witness_ShortenedWait == Wait = IntervalOf(condition)
=============================================================================
