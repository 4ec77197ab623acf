"""The lecture, the chapter, the notes and the SVM lecture, section by section."""

from __future__ import annotations

from tests.book.row import Row

LECTURE = (
    Row(
        "Recap, theorem 1", "FTRL on linear losses with a quadratic penalty",
        zoo="ftrl", ids="THM-2.11+ LEM-2.3",
        tests="play/test_game.py::ftrl_on_linear_costs_is_mirror_descent", papers="Shalev-Shwartz & Singer 2007",
    ),
    Row(
        "Algorithm 1, theorem 2", "OGD on R^d, with lazy projections elsewhere",
        zoo="ogd ogd-lazy", ids="THM-2.4 EQ-2.15 COR-2.17 LAZY+",
        tests="certificate/test_certificate.py::worked_examples_of_gradient_descent", papers="Zinkevich 2003",
        errata="E01 E05",
    ),
    Row(
        "Example 1, corollary 3", "experts by gradient descent on the simplex",
        python="experts.Descent Simplex", commands="lowregret play coin-flips ogd-lazy", ids="LAZY+",
        tests="experts/test_certify.py::certificates_hold", errata="E01",
    ),
    Row(
        "Example 2, algorithm 2", "the Perceptron as OGD on a surrogate",
        zoo="perceptron", python="loss.OnMistakes", ids="PERC-OBS",
        tests="play/test_game.py::perceptron_as_descent_on_surrogates", papers="Rosenblatt 1958", errata="E04 E05",
    ),
    Row(
        "Theorem 4, claim 5", "its mistakes, with and without a margin",
        zoo="perceptron", commands="lowregret play orthonormal perceptron", ids="THM-3.9 PERC-ROOT PERC-MARGIN",
        tests="certificate/test_mistakes.py::the_margin_bound_holds_where_there_is_a_margin", errata="E02 E03",
    ),
)  # fmt: skip

CHAPTER = (
    Row("Online learning model", "a repeated game", python="train play", commands="lowregret play",
        tests="run/test_one_run.py"),
    Row("Regret bound (1)", "aggregated loss against the best in hindsight", python="regret.regret regret.Best",
        tests="test_regret.py::static_regret"),
    Row(
        "Algorithm 1, theorem 1", "Perceptron; a random iterate as output",
        zoo="perceptron", python="Random", ids="PERC-MARGIN",
        tests="certificate/test_mistakes.py::the_margin_bound_holds_where_there_is_a_margin",
        papers="Rosenblatt 1958, Agmon 1954", errata="E27",
    ),
    Row(
        "Algorithm 2, theorem 2", "multi-class Perceptron",
        zoo="mc-perceptron", python="Multiclass", ids="THM-14.2 MC-OBS PERC-ROOT",
        tests="learner/test_multiclass.py::mistake_bounds_hold_for_many_comparators "
        "structured/test_certificate.py::the_example_in_which_both_bounds_are_tight",
        errata="E28",
    ),
    Row(
        "Online to batch, proposition 3", "E error of a random iterate",
        zoo="online-to-batch", python="risk.online_to_batch.prop_3", ids="PROP-3",
        tests="structured/test_certificate.py::prop_3_in_expectation_over_all_samples", errata="E28",
    ),
    Row(
        "High probability, proposition 4", "the same with probability 1 − δ",
        python="risk.online_to_batch.prop_4 risk.online_to_batch.o2b_small", ids="PROP-4 O2B-SMALL",
        tests="risk/test_online_to_batch.py::worked_examples "
        "risk/test_online_to_batch.py::a_fixed_number_of_rounds_fails_at_most_as_often_as_promised",
        papers="Zhang 2005", errata="E31",
    ),
    Row(
        "Algorithm 3, theorem 5", "projected OGD with a constant rate",
        zoo="ogd-eager", python="ProjectedGradient", ids="THM-14.5",
        tests="learner/test_start.py::descent_from_anywhere "
        "learner/test_identities.py::lazy_and_eager_differ_once_a_projection_has_bound",
        papers="Zinkevich 2003", errata="E32",
    ),
    Row(
        "Theorem 6, example 7", "any g_t with ⟨g_t, u − w_t⟩ ≤ ℓ̃_t(u) − ℓ_t(w_t)",
        python="certificate.surrogate.surrogate_certificate", ids="THM-14.6",
        tests="play/test_game.py::perceptron_as_descent_on_surrogates", errata="E29",
    ),
    Row(
        "Theorem 8, compared with ERM", "an oracle inequality for the average",
        python="risk.online_to_batch.thm_14_9 Average", ids="THM-14.9 O2B-HP",
        tests="risk/test_online_to_batch.py::worked_examples", errata="E30",
    ),
    Row(
        "Example 9", "structured SVM",
        zoo="structured-svm", python="MultiHinge CostHinge structured.Chain structured.LabelTree",
        ids="LAZY-DEC EQ-2.15",
        tests="structured/test_learner.py::learners_are_the_textbooks "
        "structured/test_certificate.py::nested_against_the_exact_best",
    ),
    Row(
        "Definition 10, theorem 11", "strongly convex losses: η_t = 1/(λt), regret ln T",
        zoo="ogd-sc", python="InverseTime convex.Regularised", ids="THM-14.11",
        tests="certificate/test_certificate.py::worked_examples_of_strong_convexity",
    ),
    Row(
        "Theorem 12", "weighted regret: η_t = 2/(λ(t+1)), without the ln T",
        zoo="ogd-scw", python="WeightedInverseTime WeightedAverage regret.Weighted", ids="THM-14.12",
        tests="play/test_game.py::weighted_schedule_bounds_the_weighted_regret",
    ),
    Row(
        "Corollary 13", "oracle inequalities for L2-regularised losses",
        python="risk.online_to_batch.cor_13", ids="COR-13a COR-13b",
        tests="risk/test_online_to_batch.py::worked_examples",
    ),
    Row(
        "Algorithm 4", "Hedge for any losses on any Ω: finite, a box, a grid, a sampler",
        zoo="hedge box-hedge sampled-hedge", python="experts.grid", ids="THM-14.15 NONE",
        tests="experts/test_draw.py::boxes_are_certified experts/test_draw.py::a_sampler_of_ones_own",
        papers="Vovk 1990, Freund & Schapire 1997", errata="E32",
    ),
    Row(
        "Theorem 14, proposition 15, example", "KL to the prior, and Gibbs' distribution; M√(T ln N/2)",
        zoo="hedge", ids="THM-14.15 THM-14.15-HP MIX",
        tests="experts/test_identities.py::hedge_is_its_potential_plus_gaps "
        "experts/test_identities.py::what_was_learnt_is_a_prior",
    ),
    Row("Summary", "no algorithm"),
)  # fmt: skip

NOTES = (
    Row("Online learning", "predictors h_1, h_2, … updated locally", python="train learner.linear.Linear",
        tests="learner/test_linear.py"),
    Row(
        "A mistake bound for the Perceptron", "on any stream; hinges summed over all rounds",
        zoo="perceptron", ids="THM-3.9 PERC-OBS",
        tests="certificate/test_mistakes.py::bounds_hold_on_real_data", papers="Gentile 2003", errata="E33",
    ),
    Row("Sequential risk and regret", "both divided by T", python="regret.regret",
        tests="test_regret.py::static_regret"),
    Row(
        "Projected OGD, (8)", "a ball of radius U, η_t = η/√t: regret ≤ UG√(8T)",
        zoo="ogd-sqrt", python="InverseSqrt L2Ball", ids="EQ-8 EQ-8+",
        tests="certificate/test_certificate.py::tuned_rates_give_the_printed_bounds", papers="Zinkevich 2003",
        errata="E34 E35",
    ),
    Row(
        "Strongly convex losses", "η_t = 1/(σt) on R^d, without projections",
        zoo="ogd-sc", ids="THM-14.11",
        tests="learner/test_identities.py::the_leader_of_the_quadratic_game_is_ogd_for_strong_convexity",
        errata="E34 E35 E36",
    ),
)  # fmt: skip

SVM = (
    Row(
        "4.1 Online convex optimization", "Zinkevich's theorem: moving comparators, rates 1/√t and 1/t",
        zoo="ogd-eager", python="regret.Moving ProjectedGradient", commands="lowregret play drift ogd-eager; "
        "lowregret play turn ogd-sc",
        ids="DYN THM-4.1.3 EAGER-DEC",
        tests="test_regret.py::nothing_that_moves_breaks_it "
        "test_regret.py::a_comparator_that_rests_gives_the_static_bound",
        papers="Zinkevich 2003", errata="E37 E38 E39 E40",
    ),
    Row("4.1, an alternative to Hedge", "experts by projected descent on the simplex",
        python="Simplex experts.Descent", commands="lowregret play coin-flips ogd-eager", ids="THM-14.5 LAZY+",
        tests="domain/test_domain.py::simplex_projection_by_sorting"),
    Row("4.2 Support vector machine", "a hyperplane with an offset", zoo="svm-online", ids="EAGER-DEC",
        tests="certificate/test_certificate.py::worked_example_of_the_online_svm"),
    Row("4.2.1 Eliminating b", "x⁺ = [x, 1]: `bias=1.0`", python="Linear",
        tests="certificate/test_mistakes.py::perceptron_with_a_bias"),
    Row("4.2.2 Hinge loss", "max(0, 1 − y⟨w,x⟩) on a ball of radius λ", python="Hinge L2Ball",
        commands="lowregret zoo losses", tests="test_loss.py::values_and_the_conventions_at_kinks", errata="E37 E41"),
    Row("4.2.3 Online SVM", "projected descent on the hinge", zoo="svm-online", ids="ONLINE-SVM EAGER-DEC EQ-8+",
        tests="certificate/test_certificate.py::worked_example_of_the_online_svm", errata="E37"),
    Row("4.2.3.1 Subgradient", "tangents from below", python="loss.Loss.at convex.Convex.subgradient", ids="LEM-2.5",
        tests="test_loss.py::slope_is_a_subgradient"),
    Row("4.2.3.2 Projection", "w·λ/‖w‖", python="domain.Domain.projection L2Ball",
        tests="domain/test_domain.py::projection_is_the_nearest_point"),
    Row(
        "4.3 Parallel online SVM", "gradients that come τ rounds late",
        zoo="ogd-delay delayed", python="learner.delayed.Delayed", ids="DELAY",
        tests="run/test_delayed.py::it_is_what_the_transcription_says run/test_delayed.py::no_order_breaks_it",
        papers="Zinkevich, Langford & Smola 2009", errata="E37",
    ),
)  # fmt: skip
