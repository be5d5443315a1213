------------------------------ MODULE Dispatch ------------------------------
\* Models: one call after another to endpoints that are busy, fail, are set aside
\* and are removed: admission, retries, and the slot that every path gives back.
\* Go: pkg/dispatch/call.go call.
\* Go: pkg/dispatch/attempt.go attempt.
\* Go: pkg/dispatch/balancer.go Balancer.
\* Go: pkg/dispatch/membership.go member.
\* Go: pkg/dispatch/control.go published.
\* Grain: one action is one operation on what calls share, or one answer of an
\* endpoint. Quarantine and Slots show that their calls may be one action each.
\* Left out: time and the steps of a refresh, which ViewRefresh has; request
\* bodies; Config.Admissions, which is more than there are members here; and the
\* ward, which Ward has: MaxAside is 100. One failure sets an endpoint aside.
\* Drawn: pc.
EXTENDS Naturals, FiniteSets

CONSTANTS N,        \* members
          Callers,  \* goroutines that call RoundTrip
          Limit,    \* Member.Limit; 0 is no limit
          Attempts, \* Config.Attempts
          Calls,    \* how many calls there may be
          Burst,    \* RetryBudgetConfig.Burst; nothing is earned
          Removals, \* how many members may be removed
          Bug       \* the planted fault, "None" for none

ASSUME /\ {N, Attempts} \subseteq Nat \ {0} /\ IsFiniteSet(Callers)
       /\ {Limit, Calls, Burst, Removals} \subseteq Nat

Members == 1..N

VARIABLES used,     \* per member: slots taken
          aside,    \* members set aside
          epoch,    \* per member: how often it was set aside
          removed,  \* members that Update took away
          closed,   \* per member: how often its endpoint was closed
          current,  \* members that are eligible in the published View
          saved,    \* retries left in the budget
          calls,    \* calls left to begin
          pc,       \* per caller: what it does next
          safe,     \* per caller: the request is idempotent
          sent,     \* per caller: members that earlier attempts were sent to
          answered, \* per caller: those of them that answered
          refused,  \* per caller: members that refused admission to this attempt
          attempts, \* per caller: attempts admitted
          has,      \* per caller: the eligible members of the picker it loaded
          to,       \* per caller: the member it picked or sent to last, 0 for none
          permit,   \* per caller: the epoch of the permit of the attempt under way
          held,     \* per caller: the attempt that holds a slot
          former,   \* per caller: the attempt before, until its response is discarded
          answer,   \* per caller: what came of the last attempt
          last      \* the last step: operation, who, arguments, result once the call has ended

world == <<used, aside, epoch, removed, closed, current>>
self == <<safe, sent, answered, refused, attempts, has, to, permit, held, former, answer>>
state == <<world, saved, calls, pc, self>> \* what steps depend on: a VIEW for big bounds
vars == <<state, last>>

None == [member |-> 0, epoch |-> 0]
Answers == {"served", "busy", "failed", "unsent", "cancelled", "panic"}

TypeOK == /\ used \in [Members -> 0..(2 * Cardinality(Callers))]
          /\ {aside, removed, current} \subseteq SUBSET Members
          /\ pc \in [Callers -> {"idle", "load", "pick", "permit", "begin", "discard", "sent", "over", "body"}]
          /\ {sent, answered, refused} \subseteq [Callers -> SUBSET Members]
          /\ attempts \in [Callers -> 0..Attempts]
          /\ to \in [Callers -> 0..N]
          /\ answer \in [Callers -> Answers \cup {""}]
          /\ saved \in 0..Burst
-----------------------------------------------------------------------------
Say(op, c, m, arg, res) == last' = [op |-> op, by |-> c, member |-> m, arg |-> arg, res |-> res]
Goes(c, next) == pc' = [pc EXCEPT ![c] = next]
Truth(down, gone) == {m \in Members : m \notin down /\ m \notin gone}

Init == /\ used = [m \in Members |-> 0]
        /\ aside = {} /\ removed = {} /\ current = Members
        /\ epoch = [m \in Members |-> 0]
        /\ closed = [m \in Members |-> 0]
        /\ saved = Burst /\ calls = Calls
        /\ pc = [c \in Callers |-> "idle"]
        /\ safe = [c \in Callers |-> FALSE]
        /\ sent = [c \in Callers |-> {}]
        /\ answered = [c \in Callers |-> {}]
        /\ refused = [c \in Callers |-> {}]
        /\ attempts = [c \in Callers |-> 0]
        /\ has = [c \in Callers |-> {}]
        /\ to = [c \in Callers |-> 0]
        /\ permit = [c \in Callers |-> 0]
        /\ held = [c \in Callers |-> None]
        /\ former = [c \in Callers |-> None]
        /\ answer = [c \in Callers |-> ""]
        /\ last = [op |-> "Init", by |-> "", member |-> 0, arg |-> "", res |-> ""]

\* The call is over and leaves nothing behind.
Forget(c) == /\ Goes(c, "idle")
             /\ safe' = [safe EXCEPT ![c] = FALSE]
             /\ sent' = [sent EXCEPT ![c] = {}]
             /\ answered' = [answered EXCEPT ![c] = {}]
             /\ refused' = [refused EXCEPT ![c] = {}]
             /\ attempts' = [attempts EXCEPT ![c] = 0]
             /\ has' = [has EXCEPT ![c] = {}]
             /\ to' = [to EXCEPT ![c] = 0]
             /\ permit' = [permit EXCEPT ![c] = 0]
             /\ held' = [held EXCEPT ![c] = IF Bug = "LeaksBodies" THEN @ ELSE None]
             /\ former' = [former EXCEPT ![c] = None]
             /\ answer' = [answer EXCEPT ![c] = ""]

\* An attempt ends: its slot comes back, its endpoint is closed if it was the last
\* one of a removed member, and a failure sets the member aside if the permit is
\* of this epoch.
End(h, failure) ==
  LET m == h.member
      counts == (failure \/ Bug = "BlamesTheEndpoint") /\ h.epoch = epoch[m] /\ m \notin removed
  IN /\ used' = [used EXCEPT ![m] = @ - 1]
     /\ closed' = [closed EXCEPT ![m] = IF used[m] = 1 /\ m \in removed THEN @ + 1 ELSE @]
     /\ aside' = IF counts THEN aside \cup {m} ELSE aside
     /\ epoch' = [epoch EXCEPT ![m] = IF counts THEN @ + 1 ELSE @]
     /\ UNCHANGED <<removed, current>>

\* Go: (*Balancer).RoundTrip, up to its first pick.
Call(c, s) == /\ pc[c] = "idle"
              /\ calls > 0
              /\ calls' = calls - 1
              /\ safe' = [safe EXCEPT ![c] = s]
              /\ Goes(c, "load")
              /\ Say("Call", c, 0, IF s THEN "idempotent" ELSE "once", "")
              /\ UNCHANGED <<world, saved, sent, answered, refused, attempts, has, to, permit, held, former, answer>>

\* Go: (*call).pick, the load of the picker.
PickLoad(c) == /\ pc[c] = "load"
               /\ has' = [has EXCEPT ![c] = current]
               /\ Goes(c, "pick")
               /\ Say("PickLoad", c, 0, "", "")
               /\ UNCHANGED <<world, saved, calls, safe, sent, answered, refused, attempts, to, permit, held, former, answer>>

\* What an attempt passes over: Tried at first, Spent after an error.
Tried(c) == sent[c] \cup refused[c]
Spent(c) == answered[c] \cup refused[c]

\* Whom the policy may pick: an untried member, or after an error, where there is
\* none, one that neither refused nor answered.
Untried(c) == has[c] \ (IF Bug = "ForgetsTheTried" THEN Spent(c) ELSE Tried(c))
Choices(c) == IF Untried(c) = {} /\ (answer[c] # "busy" \/ Bug = "ReturnsToTheBusy")
              THEN has[c] \ (IF Bug = "ReturnsToTheBusy" THEN {} ELSE Spent(c)) ELSE Untried(c)

\* Go: (*call).pick, of one of them.
Pick(c, m) == /\ pc[c] = "pick"
              /\ m \in Choices(c)
              /\ to' = [to EXCEPT ![c] = m]
              /\ has' = [has EXCEPT ![c] = {}]
              /\ Goes(c, "permit")
              /\ Say("Pick", c, m, "", "")
              /\ UNCHANGED <<world, saved, calls, safe, sent, answered, refused, attempts, permit, held, former, answer>>

\* Go: (*call).pick, with nobody left. What came of the last attempt stands, and the
\* retry is given back; without an attempt the call has failed.
PickNone(c) == /\ pc[c] = "pick"
               /\ Choices(c) = {} \/ Bug = "OverlooksTheUntried"
               /\ saved' = IF attempts[c] > 0 /\ Bug # "KeepsTheRetry" THEN saved + 1 ELSE saved
               /\ IF answer[c] = "busy"
                  THEN /\ Goes(c, "body")
                       /\ has' = [has EXCEPT ![c] = {}]
                       /\ UNCHANGED <<safe, sent, answered, refused, attempts, to, permit, held, former, answer>>
                       /\ Say("PickNone", c, 0, "", "response")
                  ELSE Forget(c) /\ Say("PickNone", c, 0, "", "error")
               /\ UNCHANGED <<world, calls>>

\* Admission refuses: the call picks again without that member.
Refuse(c, op) == /\ refused' = [refused EXCEPT ![c] = @ \cup {to[c]}]
                 /\ to' = [to EXCEPT ![c] = 0]
                 /\ permit' = [permit EXCEPT ![c] = 0]
                 /\ Goes(c, "load")
                 /\ Say(op, c, to[c], "", "")
                 /\ UNCHANGED <<world, saved, calls, safe, sent, answered, attempts, has, held, former, answer>>

\* Go: (*attempt).enter, the permit.
Permit(c) == /\ pc[c] = "permit"
             /\ to[c] \notin aside \/ Bug = "AdmitsAside"
             /\ permit' = [permit EXCEPT ![c] = epoch[to[c]]]
             /\ Goes(c, "begin")
             /\ Say("Permit", c, to[c], "", "")
             /\ UNCHANGED <<world, saved, calls, safe, sent, answered, refused, attempts, has, to, held, former, answer>>

\* Go: (*attempt).enter, the permit that is refused.
PermitRefused(c) == /\ pc[c] = "permit"
                    /\ to[c] \in aside
                    /\ Refuse(c, "PermitRefused")

Room(m) == m \notin removed /\ (Limit = 0 \/ used[m] < Limit \/ Bug = "NoLimit")

\* Go: (*attempt).enter, the slot. A response of the attempt before is discarded
\* after that and not earlier: had there been no slot, it would have stood.
Begin(c) == /\ pc[c] = "begin"
            /\ Room(to[c])
            /\ used' = [used EXCEPT ![to[c]] = @ + 1]
            /\ held' = [held EXCEPT ![c] = [member |-> to[c], epoch |-> permit[c]]]
            /\ former' = [former EXCEPT ![c] = held[c]]
            /\ attempts' = [attempts EXCEPT ![c] = @ + 1]
            /\ permit' = [permit EXCEPT ![c] = 0]
            /\ answer' = [answer EXCEPT ![c] = ""]
            /\ Goes(c, IF held[c] = None THEN "sent" ELSE "discard")
            /\ Say("Begin", c, to[c], "", "")
            /\ UNCHANGED <<aside, epoch, removed, closed, current, saved, calls, safe, sent, answered, refused, has, to>>

\* Go: (*call).leave, of the response before: it was busy, which is a failure.
Discard(c) == /\ pc[c] = "discard"
              /\ IF Bug = "KeepsTheFormer" THEN UNCHANGED world ELSE End(former[c], Bug # "ForgivesTheBusy")
              /\ former' = [former EXCEPT ![c] = None]
              /\ Goes(c, "sent")
              /\ Say("Discard", c, former[c].member, "", "")
              /\ UNCHANGED <<saved, calls, safe, sent, answered, refused, attempts, has, to, permit, held, answer>>

\* Go: (*attempt).enter, the slot that is refused.
BeginRefused(c) == /\ pc[c] = "begin"
                   /\ ~Room(to[c])
                   /\ Refuse(c, "BeginRefused")

\* Whether the call may go on with another endpoint after an answer.
MayRepeat(c, a) == /\ a \in {"busy", "failed", "unsent"}
                   /\ attempts[c] < Attempts
                   /\ safe[c] \/ a = "unsent" \/ Bug = "RepeatsAnything"

\* Go: (*attempt).send, the answer. An attempt without a response is over; one with
\* a response holds its slot. The call is over too, unless it may be repeated.
Answer(c, a) ==
  LET responds == a \in {"served", "busy"}
      holds == responds /\ Bug # "EndsAtTheHeader"
      goesOn == MayRepeat(c, a) /\ Bug # "GivesUpEarly"
  IN /\ pc[c] = "sent"
     /\ IF holds THEN UNCHANGED world ELSE End(held[c], a # "cancelled")
     /\ IF goesOn \/ responds
        THEN /\ answer' = [answer EXCEPT ![c] = a]
             /\ held' = IF holds THEN held ELSE [held EXCEPT ![c] = None]
             /\ Goes(c, IF goesOn THEN "over" ELSE "body")
             /\ UNCHANGED <<safe, sent, answered, refused, attempts, has, to, permit, former>>
        ELSE Forget(c)
     /\ Say("Answer", c, to[c], a, IF goesOn THEN "" ELSE IF responds THEN "response" ELSE IF a = "panic" THEN "panic" ELSE "error")
     /\ UNCHANGED <<saved, calls>>

\* Go: (*call).again, which pays for a retry.
Retry(c) == /\ pc[c] = "over"
            /\ saved > 0
            /\ saved' = saved - 1
            /\ sent' = [sent EXCEPT ![c] = @ \cup {to[c]}]
            /\ answered' = [answered EXCEPT ![c] = IF answer[c] = "busy" THEN @ \cup {to[c]} ELSE @]
            /\ refused' = IF Bug = "RemembersRefusals" THEN refused ELSE [refused EXCEPT ![c] = {}]
            /\ to' = [to EXCEPT ![c] = 0]
            /\ Goes(c, "load")
            /\ Say("Retry", c, to[c], "", "")
            /\ UNCHANGED <<world, calls, safe, attempts, has, permit, held, former, answer>>

\* Go: (*call).again, with nothing to pay from. What came of the last attempt stands.
Stand(c) == /\ pc[c] = "over"
            /\ saved = 0
            /\ Bug # "WaitsForABudget"
            /\ IF answer[c] = "busy"
               THEN /\ Goes(c, "body")
                    /\ Say("Stand", c, 0, "", "response")
                    /\ UNCHANGED self
               ELSE /\ Forget(c)
                    /\ Say("Stand", c, 0, "", "error")
            /\ UNCHANGED <<world, saved, calls>>

\* Go: (*attempt).release, at the end of the response body, or when the caller closes
\* it or gives up.
BodyEnds(c, how) ==
  /\ pc[c] = "body"
  /\ IF Bug = "LeaksClosedBodies" /\ how = "closed" THEN UNCHANGED world
     ELSE End(held[c], how # "cancelled" /\ (answer[c] = "busy" \/ how = "broken"))
  /\ Forget(c)
  /\ Say("BodyEnds", c, held[c].member, how, "")
  /\ UNCHANGED <<saved, calls>>

\* Go: (*Balancer).refresh, with the quarantines that are over by then, or with none.
Refresh(over) == /\ IF over THEN aside # {} ELSE current # Truth(aside, removed)
                 /\ aside' = IF over THEN {} ELSE aside
                 /\ current' = IF Bug = "PublishesNothing" THEN current ELSE Truth(aside', removed)
                 /\ Say("Refresh", "", 0, IF over THEN "over" ELSE "", "")
                 /\ UNCHANGED <<used, epoch, removed, closed, saved, calls, pc, self>>

\* Go: (*Balancer).Update, which takes a member away.
Update(m) == /\ m \notin removed
             /\ Cardinality(removed) < Removals
             /\ removed' = removed \cup {m}
             /\ aside' = IF Bug = "KeepsTheQuarantine" THEN aside ELSE aside \ {m}
             /\ current' = Truth(aside', removed')
             /\ closed' = [closed EXCEPT ![m] = IF used[m] = 0 \/ Bug = "ClosesAtOnce" THEN @ + 1 ELSE @]
             /\ Say("Update", "", m, "", "")
             /\ UNCHANGED <<used, epoch, saved, calls, pc, self>>

\* World: nothing happens any more.
Rest == /\ calls = 0
        /\ \A c \in Callers : pc[c] = "idle"
        /\ Say("Rest", "", 0, "", "")
        /\ UNCHANGED <<world, saved, calls, pc, self>>

Next == \/ \E c \in Callers : \/ \E s \in BOOLEAN : Call(c, s)
                              \/ PickLoad(c)
                              \/ \E m \in Members : Pick(c, m)
                              \/ PickNone(c)
                              \/ Permit(c)
                              \/ PermitRefused(c)
                              \/ Begin(c)
                              \/ BeginRefused(c)
                              \/ Discard(c)
                              \/ \E a \in Answers : Answer(c, a)
                              \/ Retry(c)
                              \/ Stand(c)
                              \/ \E how \in {"read", "closed", "broken", "cancelled"} : BodyEnds(c, how)
        \/ \E over \in BOOLEAN : Refresh(over)
        \/ \E m \in Members : Update(m)
        \/ Rest

\* A call that has begun goes on, an endpoint answers in the end, and a caller
\* that got a response ends it in some way.
Spec == /\ Init
        /\ [][Next]_vars
        /\ \A c \in Callers : /\ WF_vars(PickLoad(c))
                              /\ WF_vars(\E m \in Members : Pick(c, m))
                              /\ WF_vars(PickNone(c))
                              /\ WF_vars(Permit(c)) /\ WF_vars(PermitRefused(c))
                              /\ WF_vars(Begin(c)) /\ WF_vars(BeginRefused(c))
                              /\ WF_vars(Discard(c))
                              /\ WF_vars(\E a \in Answers : Answer(c, a))
                              /\ WF_vars(Retry(c)) /\ WF_vars(Stand(c))
                              /\ WF_vars(BodyEnds(c, "read"))
-----------------------------------------------------------------------------
Attempted(m) == Cardinality({c \in Callers : held[c].member = m}) + Cardinality({c \in Callers : former[c].member = m})

\* A member's slots are the attempts that hold one: every path gives its slot back.
SlotsAreAttempts == \A m \in Members : used[m] = Attempted(m)

\* A call holds one slot, but for the moment in which it exchanges one for another;
\* a call that is over holds none.
OneSlotPerCall == \A c \in Callers : /\ former[c] # None => pc[c] = "discard"
                                     /\ pc[c] = "idle" => held[c] = None

NeverOverLimit == Limit # 0 => \A m \in Members : used[m] <= Limit

\* Claim: A retry goes to an endpoint that was not tried while an eligible one is
\* left.
RetriesGoElsewhere ==
  [][\A c \in Callers : pc[c] = "pick" /\ to'[c] \in Tried(c) => attempts[c] > 0 /\ has[c] \subseteq Tried(c)]_vars

\* Claim: A retry goes back to an endpoint that was tried only after an error, and
\* never to one that answered.
RetriesNobodyThatAnswered ==
  [][\A c \in Callers : /\ pc[c] = "pick" /\ to'[c] \in Tried(c) => answer[c] # "busy" /\ to'[c] \notin Spent(c)
                        /\ last'.op = "Retry" /\ last'.by = c /\ answer[c] = "busy" => to[c] \in answered'[c]]_vars

\* A call ends only when it may go on no more, or nobody is left to go to.
GoesOnWhileItMay ==
  [][\A c \in Callers : last'.by = c =>
       /\ last'.op = "Answer" /\ last'.res # "" => ~MayRepeat(c, last'.arg)
       /\ last'.op = "Stand" => saved = 0
       /\ last'.op = "PickNone" => has[c] \subseteq Tried(c)]_vars

\* Who refused an earlier attempt may admit this one.
RetriesForgetRefusals == [][\A c \in Callers : last'.op = "Retry" /\ last'.by = c => refused'[c] = {}]_vars

\* Claim: An endpoint that is set aside gets no new call until its backoff is over,
\* and then comes back by itself.
AdmitsNobodyAside == [][\A c \in Callers : pc[c] = "permit" /\ pc'[c] = "begin" => to[c] \notin aside]_vars

\* A response that was worth repeating counts against the endpoint that gave it.
BusyIsAFailure ==
  [][\A c \in Callers : last'.op = "Discard" /\ last'.by = c =>
       LET h == former[c]
       IN h.epoch = epoch[h.member] /\ h.member \notin removed => h.member \in aside']_vars

\* Whatever is published is the truth at that moment.
PublishesTheTruth == [][last'.op \in {"Refresh", "Update"} => current' = Truth(aside', removed')]_vars

\* A removed member is in no quarantine any more.
RemovedIsNotAside == aside \cap removed = {}

\* A retry for which nobody was found is given back.
UnusedRetriesComeBack ==
  [][\A c \in Callers : last'.op = "PickNone" /\ last'.by = c /\ attempts[c] > 0 => saved' = saved + 1]_vars

\* Claim: A request that is not idempotent is sent again only if nothing of it was
\* sent.
RepeatsOnlyWhatIsSafe ==
  [][\A c \in Callers : attempts[c] > 0 /\ attempts'[c] > attempts[c] => safe[c] \/ answer[c] = "unsent"]_vars

\* Claim: A call holds its slot until the end or close of the response body, an
\* error, a panic, or the caller's cancellation.
HoldsUntilTheEnd ==
  [][\A m \in Members : used'[m] < used[m] => /\ last'.op \in {"Answer", "BodyEnds", "Discard"}
                                              /\ last'.arg \notin {"served", "busy"}]_vars

\* Claim: A caller's cancellation and a request body that fails say nothing about
\* the endpoint.
CancellationBlamesNobody == [][last'.arg = "cancelled" => UNCHANGED <<aside, epoch>>]_vars

\* Claim: A Balancer closes an Endpoint once, after it was removed and its last
\* call has ended.
ClosesOnceAndLast == \A m \in Members : closed[m] = IF m \in removed /\ used[m] = 0 THEN 1 ELSE 0

\* Claim: Every call returns a response or a CallError.
EveryCallEnds == \A c \in Callers : pc[c] # "idle" ~> pc[c] = "idle"
-----------------------------------------------------------------------------
Witness_RetriesAnother == \A c \in Callers : ~(attempts[c] = 2 /\ held[c] # None /\ Tried(c) = {3 - held[c].member})
Witness_RetriesTheSame == \A c \in Callers : ~(attempts[c] = 2 /\ held[c].member \in Tried(c))
Witness_RefusedAtCapacity == last.op # "BeginRefused"
Witness_RefusedBehind == last.op # "PermitRefused"
Witness_NobodyLeft == ~(last.op = "PickNone" /\ last.res = "error")
Witness_BusyStands == ~(last.op = "PickNone" /\ last.res = "response")
Witness_HeldWhileRemoved == \A m \in Members : m \in removed => used[m] = 0
Witness_StaleFailure == \A c \in Callers : held[c] # None => held[c].epoch = epoch[held[c].member]
Witness_BudgetEmpty == ~(last.op = "Stand" /\ last.res = "error" /\ saved = 0)
=============================================================================
