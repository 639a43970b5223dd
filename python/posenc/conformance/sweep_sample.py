"""The types that ./test runs: one of each way to encode positions, of those that are run quickly."""

SAMPLE = tuple(
    """
    albert apertus arcee bart bert camembert bloom clip codegen cohere2 deberta dinov2 distilbert electra exaone4
    falcon gemma2 gemma3_text glm gpt2 gpt_neo gpt_neox gpt_oss gptj granite granite_swa helium jetmoe kimi_k25_vision
    llama marian mamba mbart minimax_m2 ministral mistral modernbert modernbert-decoder mpt mt5 nemotron olmo2 olmo3 opt
    pegasus persimmon phi3 pixtral qwen2 qwen3 resnet roberta roformer seed_oss siglip_vision_model smollm3 stablelm
    starcoder2 t5 vit
    """.split()
)
