"""The net of the paper's figure 13: 56 inner products, far larger than a device."""


def inner_products(width, batch, layers=56, source="Input"):
    """The net's text; every layer is `width` squared weights."""
    shapes = f"shape {{ dim: {batch} dim: {width} }} shape {{ dim: {batch} }}"
    if source == "DummyData":
        param = (
            f"dummy_data_param {{ {shapes} data_filler {{ type: 'gaussian' }} "
            "data_filler { type: 'uniform' min: 0 max: 9.9 } }"
        )
    else:
        param = f"input_param {{ {shapes} }}"
    text = [f'layer {{ name: "in" type: "{source}" top: "data" top: "label" {param} }}']
    before = "data"
    for i in range(layers):
        text.append(
            f'layer {{ name: "ip{i}" type: "InnerProduct" bottom: "{before}" '
            f'top: "ip{i}" inner_product_param {{ num_output: {width} '
            'weight_filler { type: "xavier" } } }'
        )
        text.append(
            f'layer {{ name: "relu{i}" type: "ReLU" bottom: "ip{i}" top: "ip{i}" }}'
        )
        before = f"ip{i}"
    text.append(
        f'layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "{before}" '
        'bottom: "label" top: "loss" }'
    )
    return "\n".join(text)
