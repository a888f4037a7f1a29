"""SimLM: replaced language modelling through a [CLS] bottleneck, then a four-stage retriever pipeline."""
