"""tuiperf: why is this network path slow? Measured over iperf3's wire, answered with proof."""

__version__ = "0.1.0"
