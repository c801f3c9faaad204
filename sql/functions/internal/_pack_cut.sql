create or replace function loom._pack_cut(
  p_offer loom.pack_offer, p_quarters bigint, out o_offer loom.pack_offer, out o_omitted jsonb[]
)
language plpgsql immutable
as $$
declare
  v_number integer;
  v_cost bigint;
begin
  o_omitted := '{}';
  foreach v_number in array array(select generate_subscripts(p_offer.bodies, 1)) loop
    -- And the newline between two items.
    v_cost := loom._token_quarters(p_offer.bodies[v_number]) + case when o_offer.bodies is null then 0 else 1 end;
    if v_cost <= p_quarters then
      p_quarters := p_quarters - v_cost;
      o_offer.bodies := o_offer.bodies || p_offer.bodies[v_number];
      o_offer.items := o_offer.items || p_offer.items[v_number];
    else
      o_omitted := o_omitted || p_offer.items[v_number];
    end if;
  end loop;
end
$$;
comment on function loom._pack_cut(loom.pack_offer, bigint) is
  'Of what a section offers whole items in their order, as far as each fits into so many quarters of a token, and how the answer names the others.';
