------------------------------ MODULE Directory ------------------------------
\* Models: sources that say who exists, and the list that a directory makes of it.
\* Go: pkg/discovery/directory.go Directory.
\* Go: pkg/discovery/session.go Session.
\* Go: pkg/discovery/change.go Change.
\* Go: pkg/discovery/batch.go batch.
\* Grain: one action is one call, because each is one critical section. How its
\* result is published and read is SnapshotChannel.
\* Left out: identities and values that are refused for what they are; FinishDrains,
\* which looks around before it takes the lock, and its time limit.
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Sources,   \* names; each has a session open at first
          Full,      \* those that also make batches and lists, and that start again
          Ids,       \* identities
          Values,    \* what a source may say of an identity; the others say the largest
          Single,    \* those identities that sources change one at a time
          Kinds,     \* the operations of which batches are made
          Endings,   \* how often a session or the directory may end
          Dates,     \* revisions that a source may give its lists, from 1
          AtOnce,    \* what Config.AtOnce may be
          Revisions, \* how many are left at first
          Bug        \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Sources) /\ IsFiniteSet(Ids)
       /\ Full \subseteq Sources /\ Single \subseteq Ids
       /\ Kinds \subseteq {"upsert", "add", "replace", "remove"}
       /\ AtOnce \subseteq BOOLEAN
       /\ {Endings, Dates, Revisions} \subseteq Nat

VARIABLES atOnce,       \* the field cfg.AtOnce
          members,      \* the members in their order, each with its claims, oldest first
          incarnations, \* the field incarnations
          revision,     \* that of the newest snapshot, from the first one on
          closed,       \* the newest snapshot is the last one
          current,      \* per source: its newest session
          former,       \* per source: the session before that
          endings,      \* how often something may still end
          dated,        \* per source: the revision of its session's last list, 0 for none
          last          \* the last call: operation, whose, arguments, result
vars == <<atOnce, members, incarnations, revision, closed, current, former, endings, dated, last>>
list == <<members, incarnations, revision>>
sessions == <<current, former, endings, dated>>
fixed == <<atOnce, closed, current, former, endings>> \* what changes of the list leave
state == <<atOnce, list, closed, sessions>> \* what calls depend on: a VIEW for big bounds

Says(s) == IF s \in Full THEN Values ELSE {CHOOSE v \in Values : \A w \in Values : w <= v}
Range(seq) == {seq[i] : i \in DOMAIN seq}

TypeOK == /\ atOnce \in AtOnce
          /\ Len(members) <= Cardinality(Ids)
          /\ \A m \in Range(members) : /\ m.id \in Ids
                                       /\ m.incarnation \in 1..incarnations
                                       /\ m.value \in Values
                                       /\ m.draining \in BOOLEAN
                                       /\ \A c \in Range(m.claims) : c.by \in Sources /\ c.value \in Values
          /\ incarnations \in Nat
          /\ revision \in 0..Revisions
          /\ closed \in BOOLEAN
          /\ current \in [Sources -> {"open", "closed"}]
          /\ former \in [Sources -> {"none", "replaced", "closed"}]
          /\ endings \in 0..Endings
          /\ dated \in [Sources -> 0..Dates]
          /\ Range(last.res.effects) \subseteq {"unchanged", "inserted", "updated", "revived", "replaced", "claimed", "kept", "removed"}
               \cup {"drain started", "already draining", "drain finished", "not draining", "still busy"}
-----------------------------------------------------------------------------
\* A batch is a change that is not committed yet: what the members and the incarnations will
\* be, what became of each change, and why the whole is refused, "" if it is not.
Stage == [members |-> members, incarnations |-> incarnations, effects |-> <<>>, error |-> ""]

Did(st, ms, effect) == [st EXCEPT !.members = ms, !.effects = Append(@, effect)]
Refused(st, error) == [st EXCEPT !.error = error]

\* Where the identity stands, and where the claim of a source to a member; 0 for
\* nowhere.
Place(ms, id) == CHOOSE i \in 0..Len(ms) : IF i = 0 THEN \A m \in Range(ms) : m.id # id ELSE ms[i].id = id
ClaimOf(m, s) == CHOOSE i \in 0..Len(m.claims) : IF i = 0 THEN \A c \in Range(m.claims) : c.by # s ELSE m.claims[i].by = s
Claim(s, v) == [by |-> s, value |-> v]
Without(seq, i) == SubSeq(seq, 1, i - 1) \o SubSeq(seq, i + 1, Len(seq))

\* Go: (*batch).incarnate.
Incarnated(st, ms, id, claims, effect) ==
  LET n == IF Bug = "RecyclesIncarnations" THEN Len(ms) + 1 ELSE st.incarnations + 1
      m == [id |-> id, incarnation |-> n, value |-> claims[1].value, draining |-> FALSE, claims |-> claims]
  IN [Did(st, Append(ms, m), effect) EXCEPT !.incarnations = n]

\* Go: (*batch).upsert.
Upserted(st, s, id, v) ==
  LET ms == st.members
      i == Place(ms, id)
      m == ms[i]
      k == ClaimOf(m, s)
      revived == [m EXCEPT !.draining = FALSE, !.value = v, !.claims = <<Claim(s, v)>>]
  IN CASE i = 0 -> Incarnated(st, ms, id, <<Claim(s, v)>>, "inserted")
       [] i > 0 /\ m.draining /\ Bug = "RevivesAtTheEnd" -> Did(st, Append(Without(ms, i), revived), "revived")
       [] i > 0 /\ m.draining /\ Bug = "RevivesAsAnother" ->
            Incarnated(st, Without(ms, i), id, revived.claims, "revived")
       [] i > 0 /\ m.draining -> Did(st, [ms EXCEPT ![i] = revived], "revived")
       [] i > 0 /\ ~m.draining /\ k = 0 ->
            Did(st, [ms EXCEPT ![i].claims = Append(@, Claim(s, v)), ![i].value = IF Bug = "NewestClaimRules" THEN v ELSE @], "claimed")
       [] i > 0 /\ k > 1 -> Did(st, [ms EXCEPT ![i].claims[k].value = v], "unchanged")
       [] i > 0 /\ k = 1 -> Did(st, [ms EXCEPT ![i].claims[1].value = v, ![i].value = v],
                                IF m.value = v /\ Bug # "UpdatesTheEqual" THEN "unchanged" ELSE "updated")

\* Go: (*batch).replace.
Replaced(st, s, id, v) ==
  LET ms == st.members
      i == Place(ms, id)
      k == ClaimOf(ms[i], s)
      others == IF k = 0 THEN ms[i].claims ELSE Without(ms[i].claims, k)
  IN IF i = 0 THEN Incarnated(st, ms, id, <<Claim(s, v)>>, "inserted")
     ELSE Incarnated(st, Without(ms, i), id,
                     IF Bug = "ReplaceTakesAll" THEN <<Claim(s, v)>> ELSE <<Claim(s, v)>> \o others, "replaced")

\* Go: (*batch).remove.
Removed(st, s, id) ==
  LET ms == st.members
      i == Place(ms, id)
      m == ms[i]
      k == ClaimOf(m, s)
      claims == Without(m.claims, k)
  IN CASE i = 0 -> Refused(st, "unknown")
       [] i > 0 /\ m.draining -> Did(st, ms, "already draining")
       [] i > 0 /\ ~m.draining /\ k = 0 ->
            IF Bug = "RemovesForAnybody" THEN Did(st, Without(ms, i), "removed") ELSE Did(st, ms, "kept")
       [] i > 0 /\ k > 0 /\ claims # <<>> /\ Bug = "RemovesTheClaimed" -> Did(st, Without(ms, i), "removed")
       [] i > 0 /\ k > 0 /\ claims # <<>> /\ Bug = "DrainsTheClaimed" ->
            Did(st, [ms EXCEPT ![i].claims = claims, ![i].draining = TRUE, ![i].value = claims[1].value], "drain started")
       [] i > 0 /\ k > 0 /\ claims = <<>> ->
            IF atOnce THEN Did(st, Without(ms, i), "removed")
            ELSE Did(st, [ms EXCEPT ![i].claims = <<>>, ![i].draining = TRUE], "drain started")
       [] i > 0 /\ k > 0 /\ claims # <<>> ->
            Did(st, [ms EXCEPT ![i].claims = claims, ![i].value = IF Bug = "KeepsTheValue" THEN @ ELSE claims[1].value],
                IF m.value = claims[1].value THEN "kept" ELSE "updated")

\* Go: (*batch).apply.
Applied(st, s, c) ==
  LET i == Place(st.members, c.id)
  IN CASE c.do = "remove" -> Removed(st, s, c.id)
       [] c.do = "replace" -> Replaced(st, s, c.id, c.value)
       [] c.do = "add" /\ i > 0 /\ ClaimOf(st.members[i], s) > 0 -> Refused(st, "duplicate")
       [] OTHER -> Upserted(st, s, c.id, c.value)

\* All changes up to the first that is refused.
RECURSIVE Batch(_, _, _)
Batch(st, s, cs) == IF cs = <<>> \/ st.error # "" THEN st ELSE Batch(Applied(st, s, Head(cs)), s, Tail(cs))

Named(cs) == {c.id : c \in Range(cs)}
Twice(cs) == Cardinality(Named(cs)) < Len(cs)

\* The changes that take away what the source claims and a list does not name.
Missing(s, cs) ==
  LET gone == SelectSeq(members, LAMBDA m : m.id \notin Named(cs) /\ ClaimOf(m, s) > 0)
  IN [i \in DOMAIN gone |-> [do |-> "remove", id |-> gone[i].id, value |-> 0]]

\* Go: (*batch).reconcile.
Reconciled(s, cs) == IF Twice(cs) /\ Bug # "TakesTwice" THEN Refused(Stage, "duplicate")
                     ELSE Batch(Stage, s, (IF Bug = "RenewsTheListed" THEN [i \in DOMAIN cs |-> [cs[i] EXCEPT !.do = "replace"]] ELSE cs)
                                          \o (IF Bug = "KeepsTheMissing" THEN <<>> ELSE Missing(s, cs)))

\* A Tally counts; in the order of the constants, that says as much.
Effects == <<"unchanged", "inserted", "updated", "revived", "replaced", "claimed", "kept", "drain started",
             "already draining", "drain finished", "not draining", "still busy", "removed">>
Costly == {"inserted", "updated", "revived", "replaced", "drain started", "drain finished", "removed"}
RECURSIVE Tally(_, _)
Tally(effects, n) == IF n > Len(Effects) THEN <<>>
                     ELSE SelectSeq(effects, LAMBDA e : e = Effects[n]) \o Tally(effects, n + 1)
-----------------------------------------------------------------------------
Say(op, s, session, cs, date, res) ==
  last' = [op |-> op, of |-> s, session |-> session, changes |-> cs, date |-> date, res |-> res]
Fails(error) == [effects |-> <<>>, error |-> error, revision |-> 0]

Init == /\ atOnce \in AtOnce
        /\ members = <<>> /\ incarnations = 0 /\ revision = 0
        /\ closed = FALSE
        /\ current = [s \in Sources |-> "open"]
        /\ former = [s \in Sources |-> "none"]
        /\ endings = Endings
        /\ dated = [s \in Sources |-> 0]
        /\ last = [op |-> "Init", of |-> "", session |-> "", changes |-> <<>>, date |-> 0, res |-> Fails("")]

\* Why a session may change nothing.
Ended(s, session) == CASE closed /\ Bug # "ChangesTheClosed" -> "directory closed"
                       [] session = "former" /\ Bug # "FormerGoesOn" -> former[s]
                       [] session = "current" /\ current[s] = "closed" /\ Bug # "ClosedGoesOn" -> "closed"
                       [] OTHER -> ""

\* Go: (*Directory).apply. The source and its session are "" for the directory itself.
Commit(op, s, session, cs, date, st, ended) ==
  LET costs == \E e \in Range(st.effects) : e \in Costly
      error == CASE ended # "" -> ended
                 [] st.error # "" -> st.error
                 [] costs /\ revision = Revisions /\ Bug # "GoesOnExhausted" -> "exhausted"
                 [] OTHER -> ""
      price == CASE Bug = "RevisionPerChange" -> Len(SelectSeq(st.effects, LAMBDA e : e \in Costly))
                 [] Bug = "UpdatesAreFree" /\ Range(st.effects) \cap Costly = {"updated"} -> 0
                 [] costs /\ revision < Revisions -> 1
                 [] OTHER -> 0
      torn == \/ Bug = "TornBatch" /\ st.error # ""
              \/ Bug = "KeepsTheExhausted" /\ error = "exhausted"
  IN /\ members' = IF error = "" \/ torn THEN st.members ELSE members
     /\ incarnations' = IF error = "" \/ torn THEN st.incarnations ELSE incarnations
     /\ revision' = IF error = "" THEN revision + price ELSE revision
     /\ dated' = IF error = "" /\ date > 0 THEN [dated EXCEPT ![s] = date] ELSE dated
     /\ Say(op, s, session, cs, date,
            IF error # "" THEN Fails(error)
            ELSE [effects |-> IF op \in {"Reconcile", "ReconcileAt"} THEN Tally(st.effects, 1) ELSE st.effects,
                  error |-> "", revision |-> revision'])

\* The sessions that a caller has in hand.
Sessions(s) == IF former[s] = "none" THEN {"current"} ELSE {"current", "former"}

\* Go: (*Session).Upsert.
Upsert(s, session, id, v) ==
  /\ session \in Sessions(s)
  /\ Commit("Upsert", s, session, <<[do |-> "upsert", id |-> id, value |-> v]>>, 0, Upserted(Stage, s, id, v), Ended(s, session))
  /\ UNCHANGED fixed

\* Go: (*Session).Replace.
Replace(s, id, v) ==
  /\ Commit("Replace", s, "current", <<[do |-> "replace", id |-> id, value |-> v]>>, 0, Replaced(Stage, s, id, v), Ended(s, "current"))
  /\ UNCHANGED fixed

\* Go: (*Session).Remove.
Remove(s, session, id) ==
  /\ session \in Sessions(s)
  /\ Commit("Remove", s, session, <<[do |-> "remove", id |-> id, value |-> 0]>>, 0, Removed(Stage, s, id), Ended(s, session))
  /\ UNCHANGED fixed

\* Go: (*Session).Apply.
Apply(s, cs) == /\ Commit("Apply", s, "current", cs, 0, Batch(Stage, s, cs), Ended(s, "current"))
                /\ UNCHANGED fixed

\* Go: (*Session).Reconcile.
Reconcile(s, cs) == /\ Commit("Reconcile", s, "current", cs, 0, Reconciled(s, cs), Ended(s, "current"))
                    /\ UNCHANGED fixed

\* Go: (*Session).ReconcileAt.
ReconcileAt(s, cs, date) ==
  LET stale == date <= dated[s] /\ Bug # "TakesTheStale"
  IN /\ Commit("ReconcileAt", s, "current", cs, date, IF stale THEN Refused(Stage, "stale") ELSE Reconciled(s, cs), Ended(s, "current"))
     /\ UNCHANGED fixed

\* Go: (*Directory).FinishDrain, of a member with that much work outstanding.
FinishDrain(id, work) ==
  LET i == Place(members, id)
      st == CASE i = 0 -> Refused(Stage, "unknown")
              [] i > 0 /\ ~members[i].draining /\ Bug # "FinishesAnybody" -> Did(Stage, members, "not draining")
              [] i > 0 /\ work > 0 /\ Bug # "FinishesTheBusy" -> Did(Stage, members, "still busy")
              [] OTHER -> Did(Stage, Without(members, i), "drain finished")
  IN /\ Commit("FinishDrain", "", "", <<[do |-> "finish", id |-> id, value |-> work]>>, 0, st,
               IF closed /\ Bug # "ChangesTheClosed" THEN "directory closed" ELSE "")
     /\ UNCHANGED fixed

\* Go: (*Session).Close.
CloseSession(s) == /\ endings > 0
                   /\ endings' = endings - 1
                   /\ current' = [current EXCEPT ![s] = "closed"]
                   /\ Say("CloseSession", s, "current", <<>>, 0, Fails(""))
                   /\ UNCHANGED <<atOnce, list, closed, former, dated>>

\* Go: (*Directory).Open, by a source that starts again. The session before the
\* former one is forgotten.
Open(s) == /\ endings > 0
           /\ endings' = endings - 1
           /\ current' = [current EXCEPT ![s] = IF closed THEN @ ELSE "open"]
           /\ former' = [former EXCEPT ![s] = CASE closed -> @
                                                [] current[s] = "open" -> "replaced"
                                                [] OTHER -> "closed"]
           /\ dated' = [dated EXCEPT ![s] = IF closed \/ Bug = "RemembersTheList" THEN @ ELSE 0]
           /\ members' = IF Bug = "RestartDropsClaims" /\ ~closed THEN Batch(Stage, s, Missing(s, <<>>)).members ELSE members
           /\ Say("Open", s, "", <<>>, 0, Fails(IF closed THEN "directory closed" ELSE ""))
           /\ UNCHANGED <<atOnce, incarnations, revision, closed>>

\* Go: (*Directory).Close.
Close == /\ endings > 0
         /\ endings' = endings - 1
         /\ closed' = TRUE
         /\ members' = IF Bug = "CloseEmpties" THEN <<>> ELSE members
         /\ Say("Close", "", "", <<>>, 0, Fails(""))
         /\ UNCHANGED <<atOnce, incarnations, revision, current, former, dated>>

Change(kinds) == {c \in [do : kinds, id : Ids, value : {0, 1}] : c.value = 0 <=> c.do = "remove"}
Batches == {cs \in [1..2 -> Change(Kinds)] : cs[1] # cs[2]}
Entries == [do : {"upsert"}, id : Ids, value : {1}]
Lists(n) == UNION {[1..k -> Entries] : k \in 0..n}

Next == \/ \E s \in Sources, session \in {"current", "former"}, id \in Single : \/ \E v \in Says(s) : Upsert(s, session, id, v)
                                                                            \/ Remove(s, session, id)
        \/ \E s \in Sources : \E id \in Single, v \in Says(s) : Replace(s, id, v)
        \/ \E s \in Full : \/ \E cs \in Batches : Apply(s, cs)
                           \/ \E cs \in Lists(2) : Reconcile(s, cs)
                           \/ \E cs \in Lists(1), date \in 1..Dates : ReconcileAt(s, cs, date)
                           \/ CloseSession(s)
                           \/ Open(s)
        \/ \E id \in Ids, work \in {0, 1} : FinishDrain(id, work)
        \/ Close

Spec == Init /\ [][Next]_vars

\* For the graph: the last call is forgotten before the next one, or each state would
\* come once for every way to it.
Forget == /\ last.op # "Forget"
          /\ Say("Forget", "", "", <<>>, 0, Fails(""))
          /\ UNCHANGED <<atOnce, list, closed, sessions>>
GraphSpec == Init /\ [][Forget \/ (last.op \in {"Init", "Forget"} /\ Next)]_vars
-----------------------------------------------------------------------------
Costs(res) == \E e \in Range(res.effects) : e \in Costly

\* What a snapshot shows, and what a source says of an identity; 0 for nothing.
Shown(ms) == [i \in DOMAIN ms |-> [id |-> ms[i].id, incarnation |-> ms[i].incarnation, value |-> ms[i].value, draining |-> ms[i].draining]]
Said(ms, id, s) == LET i == Place(ms, id)
                       k == ClaimOf(ms[i], s)
                   IN IF i = 0 \/ k = 0 THEN 0 ELSE ms[i].claims[k].value

\* Claim: Every change, batch or list that changes anything raises the revision by
\* exactly one; all others leave it.
RevisionByOne == [][/\ revision' = IF Costs(last'.res) THEN revision + 1 ELSE revision
                    /\ Shown(members') # Shown(members) => revision' # revision]_vars

\* Claim: The members of a Snapshot stand in the order in which they joined, which is
\* that of their incarnations.
InOrderOfJoining == \A i, j \in DOMAIN members : i < j => members[i].incarnation < members[j].incarnation

\* Claim: A member keeps its incarnation and its place until it leaves; an identity
\* that comes back is a new incarnation at the end.
KeepsItsIncarnation ==
  [][\A m \in Range(members), n \in Range(members') :
       m.id = n.id => n.incarnation = m.incarnation \/ \E e \in Range(last'.res.effects) : e \in {"replaced", "removed"}]_vars
IncarnationsNeverComeBack ==
  [][/\ incarnations' >= incarnations
     /\ \A n \in Range(members') : n.incarnation > incarnations \/ \E m \in Range(members) : m.incarnation = n.incarnation]_vars

\* Claim: A member leaves or begins to drain only when no source claims it any more.
DrainsExactlyUnclaimed == \A m \in Range(members) : m.draining <=> m.claims = <<>>
LeavesUnclaimed ==
  [][\A m \in Range(members) : Place(members', m.id) = 0 => \A c \in Range(m.claims) : c.by = last'.of]_vars
OthersKeepTheirClaims ==
  [][\A id \in Ids, s \in Sources : s # last'.of => Said(members', id, s) = Said(members, id, s)]_vars

\* Claim: The value of a member is that of the source whose claim is the oldest.
ValueOfTheOldest == \A m \in Range(members) : m.claims # <<>> => m.value = m.claims[1].value

\* Claim: FinishDrain refuses while work is outstanding, and for members that do not
\* drain.
FinishesIdleDrains ==
  [][last'.op = "FinishDrain" =>
       \/ UNCHANGED list
       \/ \E i \in DOMAIN members : /\ last'.changes[1] = [do |-> "finish", id |-> members[i].id, value |-> 0]
                                    /\ members[i].draining
                                    /\ members' = Without(members, i)]_vars

\* Claim: Close keeps the last snapshot, wakes everybody who waits, and refuses every
\* later change.
CloseKeepsTheLast == [][closed' # closed => UNCHANGED list]_vars
ClosedIsFinal == [][closed => closed' /\ UNCHANGED list]_vars

\* Claim: A change that needs a revision when none is left is refused, and changes
\* nothing.
ExhaustedShowsNothing == [][revision = Revisions => revision' = revision /\ Shown(members') = Shown(members)]_vars

\* Claim: After an error of any method nothing has changed.
AnErrorChangesNothing == [][last'.res.error # "" => UNCHANGED <<list, dated>>]_vars

\* Claim: A batch is applied in the given order, as one change or not at all.
Decided(id, s, cs) == LET i == CHOOSE i \in 0..Len(cs) : IF i = 0 THEN id \notin Named(cs)
                                                         ELSE cs[i].id = id /\ \A j \in (i + 1)..Len(cs) : cs[j].id # id
                      IN IF i = 0 THEN Said(members, id, s) ELSE cs[i].value
BatchIsOneChange ==
  [][last'.op = "Apply" =>
       IF last'.res.error # "" THEN UNCHANGED list
       ELSE \A id \in Ids : Said(members', id, last'.of) = Decided(id, last'.of, last'.changes)]_vars

\* Claim: An Upsert of an equal value changes nothing.
UpsertOfTheEqual ==
  [][last'.op = "Upsert" /\ last'.res.error = "" /\ Said(members, last'.changes[1].id, last'.of) = last'.changes[1].value
     => UNCHANGED list]_vars

\* Claim: Remove of a member that drains already, or that only other sources claim,
\* changes nothing.
RemoveOfTheUnclaimed == [][last'.op = "Remove" /\ Said(members, last'.changes[1].id, last'.of) = 0 => UNCHANGED list]_vars

Whole(op) == op \in {"Reconcile", "ReconcileAt"}

\* Claim: Reconcile makes the members that the source claims those of the list, by
\* identity and value.
ReconcileMakesEqual ==
  [][Whole(last'.op) /\ last'.res.error = "" =>
       \A id \in Ids : LET value == {c.value : c \in {c \in Range(last'.changes) : c.id = id}}
                       IN Said(members', id, last'.of) \in IF value = {} THEN {0} ELSE value]_vars

\* Claim: Reconcile leaves a member that is in the list with an equal value untouched.
ReconcileLeavesTheEqual ==
  [][Whole(last'.op) /\ last'.res.error = "" =>
       \A m \in Range(members), c \in Range(last'.changes) :
         m.id = c.id /\ Said(members, m.id, last'.of) = c.value => m \in Range(members')]_vars

\* Claim: A list that names an identity twice is refused with an error that names it.
TwiceIsRefused == [][Whole(last'.op) /\ Twice(last'.changes) => last'.res.error # ""]_vars

\* Claim: A session that was closed or replaced can change nothing.
EndedChangesNothing ==
  [][last'.session = "former" \/ (last'.session = "current" /\ current[last'.of] = "closed") => UNCHANGED <<list, dated>>]_vars

\* Claim: A source that opens a new session keeps its claims, and its revisions start
\* anew.
RestartKeepsClaims == [][last'.op = "Open" => UNCHANGED list]_vars
RestartStartsAnew == [][last'.op = "Open" /\ last'.res.error = "" => dated'[last'.of] = 0]_vars

\* Claim: ReconcileAt refuses a revision that is not newer than the session's last one.
StaleIsRefused == [][last'.op = "ReconcileAt" /\ last'.res.error = "" => last'.date > dated[last'.of]]_vars
-----------------------------------------------------------------------------
Witness_Revived == last.res.effects # <<"revived">>
Witness_HandedOver == ~(last.op = "Remove" /\ last.res.effects = <<"updated">>)
Witness_ReplacedBeforeOthers == ~(last.op = "Replace" /\ \E m \in Range(members) : Len(m.claims) = 2 /\ m.incarnation = 2)
Witness_HalfABatchRefused == ~(last.op = "Apply" /\ last.res.error \in {"duplicate", "unknown"} /\ members # <<>>)
Witness_ComesBack == ~(last.res.effects = <<"inserted">> /\ incarnations = 2 /\ Len(members) = 1)
Witness_LastOfTheList == ~(Len(members) = 2 /\ members[1].id = "b")
Witness_Exhausted == last.res.error # "exhausted"
Witness_QuietWhenExhausted == ~(revision = Revisions /\ last.res.effects = <<"claimed">>)
Witness_FormerRefused == ~(last.res.error = "replaced" /\ members # <<>>)
Witness_ClosedRefused == last.res.error # "closed"
Witness_TwiceRefused == ~(last.op = "Reconcile" /\ last.res.error = "duplicate")
Witness_StaleRefused == last.res.error # "stale"
Witness_BusyDrain == last.res.effects # <<"still busy">>
=============================================================================
