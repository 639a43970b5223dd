"""The configs that the tables spoil: each is read without a warning when nothing is added."""


def model(model_type, members):
    return f'{{"model_type": "{model_type}",\n{members}}}'


def llama(members):
    return model("llama", '"head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 4096,\n' + members)


def yarn(members="", rest=""):
    rule = '"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 1024'
    return llama(rule + (", " + members if members else "") + "}" + (",\n" + rest if rest else ""))


def llama3(members):
    rule = '"rope_scaling": {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 1024,\n'
    return llama(rule + members + "}")


def longrope(short, long, original="1024"):
    """Two lists for 4 pairs."""
    return model("llama", '"head_dim": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_scaling": {\n'
                          f'"type": "longrope", "original_max_position_embeddings": {original},\n'
                          f'"short_factor": {short},\n"long_factor": {long}}}')


def mrope(sections, rest=""):
    """Three axes over 8 pairs."""
    return model("qwen2_vl", '"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,\n'
                             '"num_hidden_layers": 2, "max_position_embeddings": 64,\n'
                             f'"rope_scaling": {{"type": "mrope", "mrope_section": {sections}}}{rest}')


def qwen2_vl(vision):
    return mrope("[4, 2, 2]", f',\n"vision_config": {{{vision}}}')


def glm(part):
    return model("glm", '"head_dim": 80, "num_hidden_layers": 2, "max_position_embeddings": 4096,\n'
                        f'"partial_rotary_factor": {part}')
