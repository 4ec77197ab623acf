"""S. Shalev-Shwartz's monograph, section by section."""

from __future__ import annotations

from tests.book.row import Row

BEGINNING = (
    Row(
        "1 Introduction", "the game of prediction, mistakes and regret",
        python="train play game.contest Run finite.FiniteLearner Certificate",
        commands="lowregret play",
        tests="run/test_one_run.py game/test_contest.py::every_pair",
        papers="Cesa-Bianchi & Lugosi 2006",
    ),
    Row(
        "1.1 Examples", "online regression, prediction with expert advice, online ranking",
        zoo="expert-ranking score-ranking click-ranking",
        python="Square Absolute experts.ExpertMixture",
        ids="THM-14.15 LEM-2.20",
        tests="bandit/test_ranking.py::experts_regret_in_positions "
        "structured/test_ranking.py::positions_with_ties_and_the_surrogate_above_them",
    ),
    Row(
        "1.2 A gentle start", "Cover's impossibility: whoever does not draw can be made to err for ever",
        python="finite.Hypotheses finite.make_hypotheses",
        commands="lowregret play cover halving; lowregret play cover wm",
        tests="game/test_finite.py::cover_beats_whoever_does_not_draw game/test_finite.py::cover_does_not_beat_coins",
        papers="Cover 1965",
    ),
    Row(
        "1.2.1 Realizability", "Consistent, Halving",
        zoo="consistent halving",
        ids="COR-1.1 THM-1.2",
        tests="finite/test_learner.py::consistent_can_be_as_bad_as_its_bound "
        "finite/test_learner.py::halving_can_be_as_bad_as_its_bound_and_says_1_if_even",
        papers="Littlestone 1988",
    ),
    Row(
        "1.2.2 Randomization", "predictions in [0,1], expected regret √(T ln n/2)",
        zoo="wm", python="regret.Realised",
        ids="THM-1.3 AZUMA",
        tests="finite/test_learner.py::covers_adversary_gains_little_against_a_learner_that_draws "
        "test_regret.py::realised_regret_and_luck",
        errata="E07",
    ),
    Row("1.3 Organization", "no algorithm", papers="Cesa-Bianchi & Lugosi 2006, Rakhlin 2009, Hazan 2009"),
    Row(
        "1.4 Notation", "norms and duals, Lipschitz and convex functions",
        python="convex.Convex domain.Domain loss.Loss",
        tests="domain/test_domain.py::support_bounds_every_point_and_scales test_loss.py::convex_along_chords "
        "test_loss.py::stated_facts_are_tight",
    ),
)  # fmt: skip

CONVEX = (
    Row(
        "2 Online convex optimization", "play w_t, see f_t, pay f_t(w_t); regret against one u or the best of a set",
        python="play regret.regret regret.Fixed regret.Best convex.Function hindsight.best_in_hindsight",
        commands="lowregret play",
        tests="play/test_game.py::chain_holds_at_every_mark test_regret.py::static_regret",
        papers="Gordon 1999, Zinkevich 2003",
    ),
    Row(
        "2.1 Convexification", "online linear regression as a convex game",
        python="convex.ScoreFunction Absolute zoo.ogd",
        commands="lowregret zoo losses",
        tests="test_loss.py::slope_is_a_subgradient learner/test_linear.py",
    ),
    Row(
        "2.1.1 By randomization", "one of d choices becomes a point of the simplex",
        zoo="drawing", python="Simplex regret.Realised",
        ids="THM-14.15 AZUMA",
        tests="experts/test_draw.py::draws_follow_the_weights_and_the_loss_is_the_mixtures",
    ),
    Row(
        "2.1.2 By surrogate losses", "halving by exponential weights on 2|⟨w,v⟩ − y|, changed by mistakes only",
        zoo="surr-halving",
        ids="SURR-M+ SURR-M",
        tests="finite/test_learner.py::surrogate_halving_is_what_the_formulas_say "
        "finite/test_learner.py::surrogate_bound_without_the_second_term_fails",
        papers="Littlestone 1990, Kivinen & Warmuth 2001", errata="E06",
    ),
    Row(
        "2.2 Follow-the-leader", "the quadratic game, in which it is good, and a linear one, in which it fails",
        zoo="ftl", python="convex.QuadraticFunction convex.LinearFunction",
        commands="lowregret play quadratic ftl",
        ids="LEM-2.1 COR-2.2 COR-2.2+ FTL-QUAD-ID",
        tests="convex/test_leader.py::worked_example_of_the_quadratic_game "
        "play/test_game.py::following_the_leader_fails",
        papers="Kalai & Vempala 2005", errata="E08 E09 E12",
    ),
    Row(
        "2.3 Follow-the-regularized-leader", "FoReL: a penalty R makes the leader stable",
        zoo="ftrl",
        ids="LEM-2.3 FTRL-ID THM-2.4 EQ-2.15",
        tests="convex/test_leader.py::ftrl_identity_holds_for_arbitrary_points "
        "play/test_game.py::ftrl_on_linear_costs_is_mirror_descent",
        papers="Shalev-Shwartz & Singer 2007", errata="E12",
    ),
    Row(
        "2.3.1 The doubling trick", "restarts in blocks of 1, 2, 4, … rounds",
        zoo="doubling restarting", python="learner.doubling.Doubling",
        ids="DOUBLING",
        tests="run/test_doubling.py::the_sum_of_the_roots run/test_doubling.py::it_is_certified",
        errata="E10",
    ),
    Row(
        "2.4 Online gradient descent", "f_t replaced by its tangent at w_t",
        zoo="ogd", python="MirrorDescent Constant tuned",
        ids="EQ-2.15 THM-2.4 LEM-2.5",
        tests="certificate/test_certificate.py::equation_2_15_is_exact_at_the_last_iterate "
        "learner/test_identities.py::euclidean_mirror_descent_is_gradient_descent_is_the_2_norm_algorithm",
        papers="Zinkevich 2003", errata="E11",
    ),
    Row(
        "2.5 Strongly convex regularizers", "other penalties than the Euclidean one",
        python="Mirror FollowTheRegularisedLeader", commands="lowregret zoo ftrl",
        ids="THM-2.11+",
        tests="mirror/test_mirror.py::strength_is_tight",
        papers="Shalev-Shwartz 2007",
    ),
    Row(
        "2.5.1 Strong convexity", "Euclidean and entropic penalties",
        python="Euclidean Entropy mirror.Mirror", commands="lowregret zoo ogd-lazy; lowregret zoo eg",
        tests="mirror/test_mirror.py::divergence_is_what_a_tangent_misses_and_strongly_convex",
    ),
    Row(
        "2.5.2 Analysis", "regret ≤ R(u) − min R + ΣL_t²/σ",
        zoo="ftrl",
        ids="THM-2.11 THM-2.11+",
        tests="convex/test_leader.py::certificates_of_a_solved_game_hold",
        errata="E12",
    ),
    Row(
        "2.5.3 Derived bounds", "balls, the simplex by distance, the simplex by entropy",
        zoo="ogd-lazy eg",
        python="tuned", ids="COR-2.13 LAZY+ COR-2.14",
        tests="certificate/test_certificate.py::tuned_rates_give_the_printed_bounds "
        "certificate/test_promise.py::the_textbooks_numbers",
        errata="E13",
    ),
    Row(
        "2.6 Online mirror descent", "w = ∇R*(θ), θ the negated sum of sub-gradients",
        zoo="omd", python="MirrorDescent Mirror",
        ids="THM-2.15 THM-2.21 LEM-2.20",
        tests="learner/test_identities.py::mirror_descent_is_ftrl_on_linear_losses "
        "mirror/test_own.py::the_textbook_side_plays_as_the_coordinates_do", errata="E12",
    ),
    Row(
        "2.6.1 Derived algorithms", "normalized EG, lazy projections, p-norm",
        zoo="eg ogd-lazy pnorm",
        ids="COR-2.14 COR-2.17 LAZY+ COR-2.18",
        tests="learner/test_identities.py::multiplicative_eg_is_the_softmax_of_cumulative_losses "
        "learner/test_identities.py::lazy_is_eager_until_a_projection_binds mirror/test_mirror.py::two_is_euclidean",
        papers="Kivinen & Warmuth 1997, Gentile & Littlestone 1999", errata="E14 E15",
    ),
    Row("2.7 The language of duality", "why OMD is √2 better than it seemed", ids="LEM-2.20 THM-2.21",
        python="certificate.THEOREMS", commands="lowregret play iid ogd-lazy",
        tests="certificate/test_certificate.py::lemma_2_20_is_exact"),
    Row(
        "2.7.1 Fenchel conjugacy", "R* and the table of pairs",
        python="mirror.Mirror.conjugate mirror.Mirror.link", commands="lowregret zoo omd",
        tests="mirror/test_mirror.py::the_table mirror/test_mirror.py::link_attains_the_conjugate",
        papers="Borwein & Lewis 2006", errata="E16",
    ),
    Row(
        "2.7.2 Bregman divergences", "and the duality of strong convexity and smoothness",
        python="mirror.Mirror.divergence mirror.Mirror.strength", commands="lowregret zoo omd",
        tests="mirror/test_mirror.py::divergence_of_the_conjugate",
    ),
    Row(
        "2.7.3 Analyzing OMD", "an equality at the last iterate, and what follows from it",
        python="certificate.THEOREMS", commands="lowregret play iid ogd-lazy",
        ids="LEM-2.20 THM-2.21 EQ-2.15",
        tests="certificate/test_certificate.py::lemma_2_20_is_exact",
        papers="Kakade, Shalev-Shwartz & Tewari 2012",
    ),
    Row(
        "2.7.4 Other proof techniques",
        "the dual climbed round by round (passive-aggressive steps); Bregman projections: unnormalised EG by its sum",
        zoo="pa",
        python="UnnormalisedEntropy", commands="lowregret zoo ueg",
        ids="DUAL",
        tests="certificate/test_sources.py::passive_aggressive_steps_climb_the_dual "
        "learner/test_identities.py::unnormalised_eg_divided_by_its_sum_is_eg",
        papers="Shalev-Shwartz 2007, Cesa-Bianchi & Lugosi 2006",
    ),
    Row(
        "2.8 Bounds with local norms", "unnormalized EG, and second terms weighted by w_t",
        zoo="eg ueg",
        ids="THM-2.22 THM-2.22+ EG-RANGE THM-2.23 THM-2.23+",
        tests="certificate/test_certificate.py::worked_examples_of_mirror_descent "
        "learner/test_identities.py::the_gap_of_eg_is_a_relative_entropy",
        papers="Abernethy, Hazan & Rakhlin 2008", errata="E16",
    ),
    Row("2.9 Bibliographic remarks", "no algorithm", papers="Gordon 1999, Zinkevich 2003, Azoury & Warmuth 2001"),
)  # fmt: skip

CLASSIFICATION = (
    Row("3 Online classification", "labels 0 and 1, or ±1", commands="lowregret dimension cube:3",
        python="finite.FiniteLearner", tests="finite/test_learner.py"),
    Row(
        "3.1 Finite classes and experts", "Weighted Majority: exponential weights on costs in [0,1]",
        zoo="wm hedge",
        ids="THM-3.1(1) THM-3.1(2) THM-3.1+(1) THM-3.1+(2) THM-1.3 THM-14.15",
        tests="experts/test_small_loss.py::the_bounds_are_the_textbooks_and_hold "
        "finite/test_learner.py::weighted_majority_is_exponential_weights "
        "experts/test_identities.py::mirror_descent_is_eg_is_weighted_majority_is_hedge",
        papers="Littlestone & Warmuth 1994, Vovk 1990", errata="E07 E16",
    ),
    Row(
        "3.2 Learnability",
        "Littlestone's dimension, shattered trees, the standard optimal algorithm (SOA), VC dimension",
        zoo="soa dimension", python="finite.Littlestone",
        ids="LEM-3.3",
        tests="finite/test_learner.py::soa_against_every_adversary_makes_exactly_ldim_mistakes "
        "finite/test_learner.py::the_tree_adversary_forces_a_mistake_at_every_depth "
        "finite/test_dimension.py::the_textbooks_recursion",
        papers="Littlestone 1988", errata="E17 E18 E19",
    ),
    Row(
        "3.2.1 The unrealizable case", "agnostic learning: all experts that flip SOA's label at most Ldim times",
        zoo="agnostic",
        ids="THM-3.6",
        tests="finite/test_agnostic.py::grouped_is_brute_force",
        papers="Ben-David, Pál & Shalev-Shwartz 2009", errata="E20 E21",
    ),
    Row("3.3 Perceptron and Winnow", "half-spaces, whose Ldim is infinite without a margin",
        commands="lowregret dimension halfspaces:4", python="zoo.perceptron zoo.winnow",
        tests="finite/test_dimension.py::known_values"),
    Row(
        "3.3.1 Perceptron", "w ← w + yx on mistakes; also with kernels",
        zoo="perceptron kernel-perceptron",
        ids="PERC-OBS PERC-ROOT THM-3.9 PERC-2F PERC-MARGIN",
        tests="certificate/test_mistakes.py::perceptron_bounds_hold_at_the_best_u "
        "learner/test_identities.py::the_perceptron_ignores_its_step",
        papers="Rosenblatt 1958, Agmon 1954, Minsky & Papert 1969, Freund & Schapire 1999, Gentile 2003", errata="E22",
    ),
    Row(
        "3.3.2 Winnow", "disjunctions of few among many variables",
        zoo="winnow perceptron-or",
        ids="THM-3.10 WIN-OBS PERC-OR",
        tests="certificate/test_mistakes.py::winnow_learns_disjunctions_with_few_mistakes "
        "learner/test_identities.py::winnow_is_unnormalised_eg_on_its_mistakes",
        papers="Littlestone 1988, Auer & Warmuth 1998", errata="E23 E24",
    ),
    Row("3.4 Bibliographic remarks", "no algorithm", papers="Rakhlin, Sridharan & Tewari 2010"),
)  # fmt: skip

FEEDBACK = (
    Row("4 Limited feedback", "only the cost of what was played is seen", python="bandit.Bandit",
        commands="lowregret play bandit:iid bogd", tests="bandit/test_bandit.py"),
    Row(
        "4.1 Estimated gradients", "mirror descent on unbiased estimates",
        zoo="estimated-descent",
        ids="THM-4.1",
        tests="bandit/test_estimated.py::exp3_is_mirror_descent_on_estimates", errata="E25",
    ),
    Row(
        "4.2 Multi-armed bandits", "the multi-armed bandit algorithm, EXP3, and its kin",
        zoo="exp3 exp3-ix tsallis-inf exp4",
        ids="COR-4.2 COR-4.2+ EXP3-PATH EXP3-IX EXP3-IX-T TSALLIS TSALLIS-PATH EXP4 EXP4-PATH",
        tests="bandit/test_identities.py::expected_regret_and_every_path "
        "bandit/test_identities.py::the_estimate_is_unbiased_and_its_second_moment_known",
        papers="Auer, Cesa-Bianchi, Freund & Schapire 2003, Robbins 1952, Neu 2015, Zimmert & Seldin 2021",
        errata="E25",
    ),
    Row("4.3 Without a gradient", "points of which one value is seen", zoo="bogd", ids="COR-4.5",
        tests="bandit/test_descent.py::a_slow_transcription", papers="Flaxman, Kalai & McMahan 2005"),
    Row(
        "4.3.1 A one-shot estimate", "(d/δ)f(w + δv)v, unbiased for a smoothed f",
        python="bandit.BanditDescent", commands="lowregret play bandit:constant bogd",
        tests="bandit/test_descent.py::the_cross_polytope_gives_exact_gradients_of_quadratics",
        papers="Flaxman, Kalai & McMahan 2005", errata="E26",
    ),
    Row(
        "4.3.2 The algorithm",
        "bandit online gradient descent, as printed, or played inside the set; with two points, too",
        zoo="bogd-outside bogd",
        ids="COR-4.5-OUT COR-4.5-2-OUT COR-4.5 COR-4.5-2",
        tests="bandit/test_descent.py::mean_regret_outside_is_below_the_corrected_bound "
        "bandit/test_descent.py::mean_regret_is_below_the_corrected_bound "
        "bandit/test_descent.py::every_point_played_lies_in_the_set",
        papers="Flaxman, Kalai & McMahan 2005, Agarwal, Dekel & Xiao 2010", errata="E26",
    ),
    Row("4.4 Bibliographic remarks", "no algorithm", papers="Dani, Hayes & Kakade 2008, Robbins 1952"),
    Row(
        "5 Online-to-batch",
        "averaged and drawn models on rows yet to come; stochastic mirror descent is any `omd` with averages",
        zoo="online-to-batch omd",
        python="run.amplify.amplify", ids="THM-5.1 COR-5.2 O2B-HP O2B-SMALL O2B-EB AMPLIFY",
        tests="risk/test_online_to_batch.py::every_sample_of_a_finite_source "
        "risk/test_bounds.py::the_bounds_hold_on_a_finite_source test_output.py::every_iterate_is_as_likely",
        papers="Littlestone 1989, Cesa-Bianchi, Conconi & Gentile 2004, Vapnik 1998",
    ),
    Row("5.1 Bibliographic remarks", "no algorithm",
        papers="Freund & Schapire 1999, Cesa-Bianchi & Gentile 2006, Zhang 2005, Helmbold & Warmuth 1995"),
)  # fmt: skip

MONOGRAPH = (*BEGINNING, *CONVEX, *CLASSIFICATION, *FEEDBACK)
