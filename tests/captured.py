"""Captures of made-up machines in the words of the tools, for tests."""

GPU = """\
  <gpu id="00000000:1B:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <persistence_mode>Enabled</persistence_mode>
    <mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig>
    </mig_mode>
    <uuid>GPU-5d0f29c1</uuid>
    <platformInfo><module_id>3</module_id></platformInfo>
    <gpu_recovery_action>None</gpu_recovery_action>
    <pci>
      <pci_device_id>233010DE</pci_device_id>
      <pci_bus_id>00000000:1B:00.0</pci_bus_id>
      <pci_gpu_link_info>
        <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen>
        </pcie_gen>
        <link_widths><current_link_width>16x</current_link_width></link_widths>
      </pci_gpu_link_info>
      <replay_counter>150</replay_counter>
      <atomic_caps_inbound>FETCHADD_32 CAS_64 </atomic_caps_inbound>
      <atomic_caps_outbound>FETCHADD_7</atomic_caps_outbound>
    </pci>
    <performance_state>P0</performance_state>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
      <clocks_event_reason_hw_power_brake_slowdown>Active\
</clocks_event_reason_hw_power_brake_slowdown>
    </clocks_event_reasons>
    <fb_memory_usage><total>81559 MiB</total><used>0 MiB</used></fb_memory_usage>
    <compute_mode>Exclusive_Process</compute_mode>
    <ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>N/A</pending_ecc></ecc_mode>
    <ecc_errors>
      <volatile>
        <sram_correctable>2</sram_correctable>
        <sram_uncorrectable_parity>0</sram_uncorrectable_parity>
        <sram_uncorrectable_secded>1</sram_uncorrectable_secded>
        <dram_correctable>3</dram_correctable>
        <dram_uncorrectable>4</dram_uncorrectable>
      </volatile>
    </ecc_errors>
    <remapped_rows>
      <remapped_row_corr>0</remapped_row_corr>
      <remapped_row_pending>No</remapped_row_pending>
      <remapped_row_failure>No</remapped_row_failure>
      <row_remapper_histogram>
        <row_remapper_histogram_max>639 bank(s)</row_remapper_histogram_max>
        <row_remapper_histogram_high>1 bank(s)</row_remapper_histogram_high>
        <row_remapper_histogram_partial>0 bank(s)</row_remapper_histogram_partial>
        <row_remapper_histogram_low>0 bank(s)</row_remapper_histogram_low>
        <row_remapper_histogram_none>0 bank(s)</row_remapper_histogram_none>
      </row_remapper_histogram>
    </remapped_rows>
    <temperature><gpu_temp>29 C</gpu_temp></temperature>
    <gpu_power_readings>
      <average_power_draw>N/A</average_power_draw>
      <instant_power_draw>68.92 W</instant_power_draw>
      <current_power_limit>700.00 W</current_power_limit>
    </gpu_power_readings>
    <clocks><sm_clock>345 MHz</sm_clock></clocks>
    <clock_policy>
      <auto_boost>Off</auto_boost>
      <auto_boost_default>On</auto_boost_default>
    </clock_policy>
    <fabric>
      <state>Completed</state><status>Success</status>
      <clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>
      <health>
        <summary>Healthy</summary><bandwidth>Full</bandwidth>
        <route_unhealthy>True</route_unhealthy>
        <incorrect_configuration>N/A</incorrect_configuration>
      </health>
    </fabric>
    <processes>
      <process_info><pid>7</pid><type>C</type></process_info>
      <process_info><pid>8</pid><type>C+G</type></process_info>
    </processes>
  </gpu>
"""


def nvidia_smi(*gpus: str, attached: int | None = None) -> str:
    """Return what nvidia-smi -q -x prints of these GPUs."""
    count = len(gpus) if attached is None else attached
    return (
        '<?xml version="1.0" ?>\n'
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n'
        "<nvidia_smi_log>\n"
        "  <timestamp>Fri Aug 21 08:54:01 2026</timestamp>\n"
        "  <driver_version>580.105.08</driver_version>\n"
        "  <cuda_version>13.0</cuda_version>\n"
        f"  <attached_gpus>{count}</attached_gpus>\n"
        f"{''.join(gpus)}</nvidia_smi_log>\n"
    )


def gpu_at(bus: str, uuid: str = "GPU-5d0f29c1") -> str:
    """Return the same GPU at another address."""
    return GPU.replace(":1B:", f":{bus}:").replace("GPU-5d0f29c1", uuid)


TOPOLOGY = """\
<!-- of a provider -->
<system version="1">
  <cpu numaid="1" affinity="ff" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32 GT/s" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200" vendor="0x10de" device="0x2330"/>
      <pci busid="0101:00:00.0" class="0x020700">
        <nic><net name="mlx5_0" port="1" guid="0x9a70"/>
          <net name="mlx5_0" port="2" guid="0x9a70"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tNode GUID: 0x0c42a10300a1b2c4
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 26
\t\tSM lid: 1
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tNode GUID: 0x0c42a10300a1b2c5
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tBase lid: 65535
\t\tSM lid: 0
\t\tLink layer: InfiniBand
"""
IBV_DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tnode_guid:\t\t\t0c42:a103:00a1:b2c4
\tboard_id:\t\t\tMT_0000000838
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tsm_lid:\t\t\t0
\t\t\tport_lid:\t\t0
\t\t\tlink_layer:\t\tEthernet
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t100.0 Gbps (128)
\t\t\tphys_state:\t\tLINK_UP (5)
\t\t\tGID[  0]:\t\tfe80::e42:a1ff:fea1:b2c4, RoCE v1
\t\t\tGID[  2]:\t\t::ffff:10.0.0.7, RoCE v2
"""
TOPO = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A
GPU1\tSYS\t X \tSYS\t48-95\t1\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t\t

NIC Legend:

  NIC0: mlx5_0
"""
LSPCI = """\
00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2]
16:00.0 PCI bridge [0604]: Broadcom / LSI Switch [1000:c030] (prog-if 00 [Normal])
\tBus: primary=16, secondary=17, subordinate=17, sec-latency=0
\tCapabilities: [fb4] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir-
17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5] [10de:2330] (rev a1)
\tNUMA node: 0
\tIOMMU group: 39
\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\tKernel driver in use: nvidia
1f:00.0 SATA controller [0106]: Intel Corporation Device [8086:a282]
"""
ENV = """\
SHELL=/bin/bash
PWD=/home/u
NCCL_DEBUG="INFO"
LS_COLORS=rs=0:di=01;34
PATH=/usr/bin:/bin
NOTE=one
  two
BASH_FUNC_ml%%=() {  eval $($LMOD_DIR/ml_cmd "$@")
}
HOME=/home/u
SHLVL=1
"""
DCGMI = """\
1 GPU found.
+--------+---------------------------------------------+
| GPU ID | Device Information                          |
+--------+---------------------------------------------+
| 0      | Name: NVIDIA H100 80GB HBM3                 |
|        | PCI Bus ID: 00000000:1B:00.0                |
|        | Device UUID: GPU-5d0f29c1                   |
+--------+---------------------------------------------+
0 NvSwitches found.
"""
