"""What version 0.3.0 of every_eval_ever's two schemas asks of a log and of its rows, as far as ours have it.

A field without a default is required, a model that forbids extra fields is one that the schema closes. Fields
that are about prompts, generation, judges and agents are left out: a log that had one would not pass here.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = "0.3.0"
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
Texts = dict[str, str]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Source(Closed):
    source_name: str = ""
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]
    additional_details: Texts = {}


class Library(Closed):
    name: str
    version: str
    additional_details: Texts = {}


class Deployment(BaseModel):
    deployment_type: Literal["self_deployed", "externally_managed", "unknown"]
    model_availability: Literal["open_weights", "closed_weights", "unknown"]
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: Texts


class Model(Closed):
    name: str
    id: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
    additional_details: Deployment


class OtherData(Closed):
    dataset_name: str
    source_type: Literal["other"]
    additional_details: Texts = {}


class Metric(Closed):
    metric_id: str
    metric_name: str
    metric_kind: str
    metric_unit: str
    metric_parameters: dict[str, str | float | bool | None]
    lower_is_better: bool
    score_type: Literal["continuous"]
    min_score: float  # both bounds are required of a continuous score
    max_score: float


class StandardError(Closed):
    value: float
    method: str = ""


class Interval(Closed):
    lower: float
    upper: float
    confidence_level: Annotated[float, Field(ge=0, le=1)]
    method: str = ""


class Uncertainty(Closed):
    standard_error: StandardError | None = None
    confidence_interval: Interval | None = None
    standard_deviation: float | None = None
    num_samples: int | None = None
    num_bootstrap_samples: int | None = None


class Score(Closed):
    score: Annotated[float, Field(allow_inf_nan=False)]
    details: Texts = {}
    uncertainty: Uncertainty | None = None


class Result(Closed):
    evaluation_result_id: str
    evaluation_name: str
    source_data: OtherData
    evaluation_timestamp: str = ""
    metric_config: Metric
    score_details: Score

    @model_validator(mode="after")
    def _the_score_lies_within_its_bounds(self):
        assert self.metric_config.min_score <= self.score_details.score <= self.metric_config.max_score
        return self


class Rows(Closed):
    format: Literal["jsonl"]
    file_path: Annotated[str, Field(pattern=rf"^data/[^/]+/[^/]+/[^/]+/{UUID4}_samples\.jsonl$")]
    hash_algorithm: Literal["sha256", "md5"]
    checksum: str
    total_rows: Annotated[int, Field(ge=1)]
    additional_details: Texts = {}


class Log(Closed):
    schema_version: Literal["0.3.0"]
    evaluation_id: str
    evaluation_timestamp: str = ""
    retrieved_timestamp: Annotated[str, Field(pattern=r"^[0-9]+$")]  # seconds since 1970
    source_metadata: Source
    model_info: Model
    eval_library: Library
    evaluation_results: list[Result]
    detailed_evaluation_results: Rows | None = None


class Input(Closed):
    raw: str
    reference: list[str]


class Output(Closed):
    raw: list[str]


class Evaluation(Closed):
    score: Annotated[float, Field(allow_inf_nan=False)]
    is_correct: bool


class Row(Closed):
    schema_version: Literal["0.3.0"]
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str
    sample_id: str
    interaction_type: Literal["single_turn"]  # which must have an output, and no messages
    input: Input
    output: Output
    answer_attribution: list
    evaluation: Evaluation
    metadata: Texts
