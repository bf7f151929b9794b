"""Every name of Fluid's `layers`, and what to use in place of those that are not here.

Errors and the page `docs/fluid_layers.md` are made from it.
"""

from __future__ import annotations

#: The names of `fluid.layers` in Fluid 1.5.
LAYERS = """
DynamicRNN IfElse Preprocessor Print StaticRNN Switch While abs accuracy acos adaptive_pool2d adaptive_pool3d
add_position_encoding affine_channel affine_grid anchor_generator argmax argmin argsort array_length array_read
array_write asin assign atan auc autoincreased_step_counter batch batch_norm beam_search beam_search_decode
bilinear_tensor_product bipartite_match box_clip box_coder box_decoder_and_assign bpr_loss brelu cast ceil
chunk_eval clip clip_by_norm collect_fpn_proposals concat continuous_value_model conv2d conv2d_transpose conv3d
conv3d_transpose cos cos_sim cosine_decay create_array create_global_var create_parameter
create_py_reader_by_data create_tensor crf_decoding crop cross_entropy ctc_greedy_decoder cumsum data data_norm
deformable_conv deformable_roi_pooling density_prior_box detection_map detection_output diag dice_loss
distribute_fpn_proposals double_buffer dropout dynamic_gru dynamic_lstm dynamic_lstmp edit_distance
elementwise_add elementwise_div elementwise_floordiv elementwise_max elementwise_min elementwise_mod
elementwise_mul elementwise_pow elementwise_sub elu embedding equal exp expand exponential_decay fc
fill_constant fill_constant_batch_size_like flatten floor fsp_matrix gather gaussian_random
gaussian_random_batch_size_like generate_mask_labels generate_proposal_labels generate_proposals
get_tensor_from_selected_rows greater_equal greater_than grid_sampler group_norm gru_unit hard_shrink
hard_sigmoid has_inf has_nan hash hsigmoid huber_loss im2sequence image_resize image_resize_short increment
inverse_time_decay iou_similarity is_empty isfinite kldiv_loss l2_normalize label_smooth layer_norm leaky_relu
less_equal less_than linear_chain_crf linear_lr_warmup linspace load lod_reset log log_loss logical_and
logical_not logical_or logical_xor logsigmoid lrn lstm lstm_unit margin_rank_loss matmul maxout mean mean_iou
merge_selected_rows mul multi_box_head multiclass_nms multiplex natural_exp_decay nce noam_decay not_equal
npair_loss one_hot ones open_files pad pad2d pad_constant_like piecewise_decay pixel_shuffle
polygon_box_transform polynomial_decay pool2d pool3d pow prelu prior_box psroi_pool py_func py_reader
random_crop random_data_generator range rank rank_loss read_file reciprocal reduce_all reduce_any reduce_max
reduce_mean reduce_min reduce_prod reduce_sum relu relu6 reorder_lod_tensor_by_rank reshape resize_bilinear
resize_nearest retinanet_detection_output retinanet_target_assign reverse roi_align roi_perspective_transform
roi_pool round row_conv rpn_target_assign rsqrt sampled_softmax_with_cross_entropy sampling_id scale scatter
selu sequence_concat sequence_conv sequence_enumerate sequence_expand sequence_expand_as sequence_first_step
sequence_last_step sequence_mask sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_scatter
sequence_slice sequence_softmax sequence_unpad shape shuffle shuffle_channel sigmoid
sigmoid_cross_entropy_with_logits sigmoid_focal_loss sign similarity_focus sin slice smooth_l1 soft_relu softmax
softmax_with_cross_entropy softplus softshrink softsign space_to_depth spectral_norm split sqrt square
square_error_cost squeeze ssd_loss stack stanh sum sums swish tanh tanh_shrink target_assign
teacher_student_sigmoid_loss temporal_shift tensor_array_to_tensor thresholded_relu topk transpose tree_conv
uniform_random uniform_random_batch_size_like unsqueeze unstack warpctc where yolo_box yolov3_loss zeros
zeros_like
""".split()

#: Those that Fluid 1.6 to 1.8 have added.
LAYERS_LATER = """
BasicDecoder BeamSearchDecoder Categorical DecodeHelper Decoder GRUCell GreedyEmbeddingHelper LSTMCell
MultivariateNormalDiag Normal RNNCell SampleEmbeddingHelper TrainingHelper Uniform addcmul addmm allclose arange
bmm case center_loss clamp cond crop_tensor cross diag_embed dist dot dynamic_decode elementwise_equal erf
expand_as eye filter_by_instag flip full full_like gather_nd gather_tree gelu hard_swish index_sample
index_select inplace_abn instance_norm interpolate kron locality_aware_nms lod_append log1p log_softmax
logsumexp matrix_nms meshgrid mish mse_loss nonzero ones_like prroi_pool randint randn randperm resize_trilinear
rnn roll scatter_nd scatter_nd_add shard_index size strided_slice switch_case t trace tril triu unfold unique
unique_with_counts while_loop
""".split()

#: Names of `fluid.layers` that are not here, and what to use.
LAYERS_REFUSED: dict[str, str] = {}
